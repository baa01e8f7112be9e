"""``torch.func``: functions that compute derivatives of functions, and may themselves be differentiated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..execution.backward import grad as gradients_of
from ..pytree import tree_flatten, tree_map, tree_unflatten
from ..switches.modes import enable_grad
from ..table.registry import F
from ..tensors.tensor import Tensor
from .function_rules import transforming

ArgNums = int | tuple[int, ...]
_WHO = "grad_and_value(f)(*args)"


class _Level:
    """Tensors that a derivative is taken with respect to, apart from where else they are used.

    An argument that requires grad goes in as an alias, so that the result can be differentiated further; any other
    one as a leaf of its own.
    """

    def __init__(self, values: Any) -> None:
        leaves, self.spec = tree_flatten(values)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ValueError(f"expected tensors to differentiate with respect to, but got {type(leaf).__name__}")
        with enable_grad():
            self.inputs = [F.alias(t) if t.requires_grad else t.detach().requires_grad_() for t in leaves]
        self.own = {id(t) for t, given in zip(self.inputs, leaves, strict=True) if not given.requires_grad}

    def values(self) -> Any:
        """What the function is called with."""
        return tree_unflatten(self.inputs, self.spec)

    def gradients(self, outputs: list[Any], cotangents: list[Any]) -> Any:
        """Vector-Jacobian product, zeros where nothing depends on an input."""
        chosen = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        if not chosen:
            return tree_unflatten([t.new_zeros(t.shape) for t in self.inputs], self.spec)
        found = gradients_of(
            [o for o, _ in chosen], self.inputs, [c for _, c in chosen], create_graph=True, allow_unused=True
        )
        made = [t.new_zeros(t.shape) if g is None else self.left(g) for g, t in zip(found, self.inputs, strict=True)]
        return tree_unflatten(made, self.spec)

    def left(self, t: Any) -> Any:
        """A result as seen from outside: without history if only this level's own leaves are in it."""
        return t.detach() if t.requires_grad and not _reaches_others(t, self.own) else t


def _reaches_others(t: Any, own: set[int]) -> bool:
    """Whether the graph of ``t`` ends at a leaf that is not among ``own``."""
    if t.grad_fn is None:
        return id(t) not in own
    stack, seen = [t.grad_fn], {t.grad_fn}
    while stack:
        node = stack.pop()
        if hasattr(node, "variable") and id(node.variable) not in own:
            return True
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return False


def _chosen(args: tuple[Any, ...], argnums: ArgNums) -> Any:
    """The arguments that ``argnums`` names: one, or a tuple; ``RuntimeError`` where it names none, or one twice."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(f"argnums should be int or Tuple[int, ...]. Got type: {type(argnums)}")
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    if len({n % len(args) for n in numbers}) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique. argnums={numbers}")
    picked = tuple(args[n] for n in numbers)
    return picked[0] if isinstance(argnums, int) else picked


def _replaced(args: tuple[Any, ...], argnums: ArgNums, values: Any) -> list[Any]:
    given = list(args)
    for n, value in (
        zip((argnums,), (values,), strict=True) if isinstance(argnums, int) else zip(argnums, values, strict=True)
    ):
        given[n] = value
    return given


def _with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return result


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func`` (a scalar) by its arguments ``argnums``, and its value.

    With ``has_aux`` ``func`` returns ``(value, anything)`` and the result is ``(gradient, (value, anything))``.
    ``RuntimeError`` for an output that is no scalar.
    """

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = _Level(_chosen(args, argnums))
        with enable_grad(), transforming("grad"):
            output, aux = _with_aux(
                func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, "grad_and_value"
            )
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{_WHO}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim:
                raise RuntimeError(
                    f"{_WHO}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims"
                )
            found = level.gradients([output], [output.new_ones(())])
        value = level.left(output)
        return found, ((value, _seen_from_outside(aux, level)) if has_aux else value)

    return derived


def _seen_from_outside(tree: Any, level: _Level) -> Any:
    return tree_map(lambda t: level.left(t) if isinstance(t, Tensor) else t, tree)


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func`` by its arguments ``argnums``; with ``has_aux`` also the rest."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return derived


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``(output, vjp_fn)``: ``vjp_fn(*cotangents)`` gives vector-Jacobian products; ``has_aux``: the rest, too."""
    level = _Level(primals)
    with enable_grad(), transforming("vjp"):
        output, aux = _with_aux(func(*level.values()), has_aux, "vjp")
    leaves, spec = tree_flatten(output)

    def vjp_fn(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        flat, given_spec = tree_flatten(given)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_spec}, primal output: {spec}"
            )
        with enable_grad():
            return level.gradients(leaves, flat)

    result = _seen_from_outside(output, level)
    return (result, vjp_fn, _seen_from_outside(aux, level)) if has_aux else (result, vjp_fn)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(output, tangent of the output)``, by differentiating the vector-Jacobian product once more."""
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to be tuples of the same length")
    level = _Level(primals)
    with enable_grad(), transforming("jvp"):
        output, aux = _with_aux(func(*level.values()), has_aux, "jvp")
        leaves, spec = tree_flatten(output)
        pushed = tree_unflatten(_pushed(level, leaves, tree_flatten(tangents)[0]), spec)
    results = (_seen_from_outside(output, level), pushed)
    return (*results, _seen_from_outside(aux, level)) if has_aux else results


def _pushed(level: _Level, outputs: list[Any], tangents: list[Any]) -> list[Any]:
    """The tangents of ``outputs`` for tangents of the level's inputs."""
    dummies = [o.new_zeros(o.shape).requires_grad_() for o in outputs]
    reached = [(o, d) for o, d in zip(outputs, dummies, strict=True) if o.requires_grad]
    if not reached:
        return [o.new_zeros(o.shape) for o in outputs]
    back = gradients_of(
        [o for o, _ in reached], level.inputs, [d for _, d in reached], create_graph=True, allow_unused=True
    )
    linear = [(g, t) for g, t in zip(back, tangents, strict=True) if g is not None and g.requires_grad]
    if not linear:
        return [o.new_zeros(o.shape) for o in outputs]
    found = gradients_of([g for g, _ in linear], dummies, [t for _, t in linear], create_graph=True, allow_unused=True)
    own = _Level.__new__(_Level)
    own.own = level.own | {id(d) for d in dummies}
    return [o.new_zeros(o.shape) if t is None else own.left(t) for t, o in zip(found, outputs, strict=True)]


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of ``func``: shape of output, then of input; one backward per output number.

    Nested like the outputs, and inside like the arguments ``argnums``.
    """

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = _Level(_chosen(args, argnums))
        with enable_grad():
            output, aux = _with_aux(func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, "jacrev")
            leaves, spec = tree_flatten(output)
            found = tree_unflatten([_jacobian(level, leaf) for leaf in leaves], spec)
        return (found, _seen_from_outside(aux, level)) if has_aux else found

    return derived


def _jacobian(level: _Level, output: Any) -> Any:
    """The rows of one output's Jacobian, nested as the level's inputs."""
    rows = []
    for i in range(output.numel()):
        unit = output.new_zeros(output.numel())
        unit[i] = 1
        rows.append(tree_flatten(level.gradients([output], [unit.reshape(output.shape)]))[0])
    columns = zip(*rows, strict=True) if rows else [[] for _ in level.inputs]
    made = [
        F.stack(list(column), 0).reshape(*output.shape, *t.shape) if column else t.new_zeros(*output.shape, *t.shape)
        for column, t in zip(columns, level.inputs, strict=True)
    ]
    return tree_unflatten(made, level.spec)


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func`` column by column, one ``jvp`` per input number."""

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = _Level(_chosen(args, argnums))
        with enable_grad():
            output, aux = _with_aux(func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, "jacfwd")
            leaves, spec = tree_flatten(output)
            blocks = [_columns(level, leaves, place) for place in range(len(level.inputs))]
            nested = [tree_unflatten([block[i] for block in blocks], level.spec) for i in range(len(leaves))]
            found = tree_unflatten(nested, spec)
        return (found, _seen_from_outside(aux, level)) if has_aux else found

    return derived


def _columns(level: _Level, outputs: list[Any], place: int) -> list[Any]:
    """For each output its derivatives by the numbers of one input, those in the last dimensions."""
    source = level.inputs[place]
    pushed = []
    for i in range(source.numel()):
        tangents = [t.new_zeros(t.shape) for t in level.inputs]
        tangents[place].reshape(-1)[i] = 1
        pushed.append(_pushed(level, outputs, tangents))
    if not pushed:
        return [o.new_zeros(*o.shape, *source.shape) for o in outputs]
    return [F.stack(list(column), -1).reshape(*column[0].shape, *source.shape) for column in zip(*pushed, strict=True)]


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of ``func``."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``(output, jvp_fn)`` at ``primals``; ``jvp_fn(*tangents)`` uses the graph that was recorded once."""
    level = _Level(primals)
    with enable_grad():
        output = func(*level.values())
    leaves, spec = tree_flatten(output)

    def jvp_fn(*tangents: Any) -> Any:
        with enable_grad():
            return tree_unflatten(_pushed(level, leaves, tree_flatten(tangents)[0]), spec)

    return _seen_from_outside(output, level), jvp_fn
