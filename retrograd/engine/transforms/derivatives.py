"""``torch.func``: functions that compute derivatives of functions, and may themselves be differentiated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..execution.backward import grad as gradients_of
from ..pytree import tree_flatten, tree_unflatten
from ..table.registry import F
from ..tensors.tensor import Tensor
from .level import Level, new_leaf, ordinary, recording

ArgNums = int | tuple[int, ...]
_WHO, _VJP, _JVP = "grad_and_value(f)(*args)", "vjp(f, *primals)", "jvp(f, primals, tangents)"


def _chosen(args: tuple[Any, ...], argnums: ArgNums) -> Any:
    """The arguments that ``argnums`` names: one, or a tuple; ``RuntimeError`` where it names none, or one twice."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
    if len({n % len(args) for n in numbers}) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
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
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _tensors_only(output: Any, name: str) -> tuple[list[Any], Any]:
    """The outputs in a row and how they are nested; ``RuntimeError`` unless they are all tensors."""
    leaves, spec = tree_flatten(output)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    return leaves, spec


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func`` (a scalar) by its arguments ``argnums``, and its value.

    With ``has_aux`` ``func`` returns ``(value, anything)`` and the result is ``(gradient, (value, anything))``.
    ``RuntimeError`` for an output that is no scalar.
    """

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = Level(_chosen(args, argnums))
        with recording("grad"):
            output, aux = _with_aux(func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, _WHO)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{_WHO}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim:
                raise RuntimeError(
                    f"{_WHO}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims"
                )
            if output.is_complex():
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {output.dtype}. "
                    "Differentiate its real part, or use vjp."
                )
            found = level.gradients([output], [output.new_ones(())])
            value = level.left(output)
            return found, ((value, level.left_tree(aux)) if has_aux else value)

    return derived


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
    level = Level(primals)
    with recording("vjp"):
        output, aux = _with_aux(func(*level.values()), has_aux, _VJP)
        leaves, spec = _tensors_only(output, _VJP)
        result = level.left_tree(output)
        rest = level.left_tree(aux) if has_aux else None

    def vjp_fn(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        flat, given_spec = tree_flatten(given)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_spec}, primal output: {spec}"
            )
        with recording("vjp"):
            return level.gradients(leaves, flat)

    return (result, vjp_fn, rest) if has_aux else (result, vjp_fn)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(output, tangent of the output)``, by differentiating the vector-Jacobian product once more."""
    given = _checked_directions(primals, tangents)
    level = Level(primals)
    with recording("jvp"):
        output, aux = _with_aux(func(*level.values()), has_aux, _JVP)
        leaves, spec = _tensors_only(output, _JVP)
        pushed = tree_unflatten(_pushed(level, leaves, given), spec)
        results = (level.left_tree(output), pushed)
        return (*results, level.left_tree(aux)) if has_aux else results


def _checked_directions(primals: Any, tangents: Any) -> list[Any]:
    """The tangents in a row; ``RuntimeError`` unless both are tuples of tensors, alike in structure and shapes."""
    leaves, spec = _directions(primals, "primals")
    found, found_spec = _directions(tangents, "tangents")
    if spec != found_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{found_spec}"
        )
    for primal, tangent in zip(leaves, found, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
    return found


def _directions(values: Any, name: str) -> tuple[list[Any], Any]:
    if not isinstance(values, tuple):
        raise RuntimeError(f"{_JVP}: Expected {name} to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(values)
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(leaf)}")
    return leaves, spec


def _pushed(level: Level, outputs: list[Any], tangents: list[Any]) -> list[Any]:
    """The tangents of ``outputs`` for tangents of the level's inputs."""
    dummies = [new_leaf(o.new_zeros(o.shape)) for o in outputs]
    reached = [(o, d) for o, d in zip(outputs, dummies, strict=True) if o.requires_grad]
    if not reached:
        return [o.new_zeros(o.shape) for o in outputs]
    back = gradients_of(
        [o for o, _ in reached], level.inputs, [d for _, d in reached], create_graph=True, allow_unused=True
    )
    linear = [(g, t) for g, t in zip(back, tangents, strict=True) if g is not None and g.requires_grad]
    if not linear:
        return [o.new_zeros(o.shape) for o in outputs]
    found = gradients_of(
        [g for g, _ in linear], dummies, [ordinary(t) for _, t in linear], create_graph=True, allow_unused=True
    )
    return [o.new_zeros(o.shape) if t is None else level.left(t, dummies) for t, o in zip(found, outputs, strict=True)]


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of ``func``: shape of output, then of input; one backward per output number.

    Nested like the outputs, and inside like the arguments ``argnums``.
    """

    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = Level(_chosen(args, argnums))
        with recording("jacrev"):
            output, aux = _with_aux(func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, _VJP)
            leaves, spec = _tensors_only(output, _VJP)
            found = tree_unflatten([_jacobian(level, leaf) for leaf in leaves], spec)
            return (found, level.left_tree(aux)) if has_aux else found

    return derived


def _jacobian(level: Level, output: Any) -> Any:
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
        level = Level(_chosen(args, argnums))
        with recording("jacfwd"):
            output, aux = _with_aux(func(*_replaced(args, argnums, level.values()), **kwargs), has_aux, _JVP)
            leaves, spec = _tensors_only(output, _JVP)
            blocks = [_columns(level, leaves, place) for place in range(len(level.inputs))]
            nested = [tree_unflatten([block[i] for block in blocks], level.spec) for i in range(len(leaves))]
            found = tree_unflatten(nested, spec)
            return (found, level.left_tree(aux)) if has_aux else found

    return derived


def _columns(level: Level, outputs: list[Any], place: int) -> list[Any]:
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
    level = Level(primals)
    with recording("linearize"):
        output = func(*level.values())
        leaves, spec = tree_flatten(output)
        result = level.left_tree(output)
    points = tree_flatten(primals)[0]

    def jvp_fn(*tangents: Any) -> Any:
        given = tree_flatten(tangents)[0]
        for i, (primal, tangent) in enumerate(zip(points, given, strict=False)):
            for fact in ("shape", "dtype"):
                wanted, found = getattr(primal, fact), getattr(tangent, fact)
                if wanted != found:
                    raise RuntimeError(
                        f"tangent:{i} with {fact} {found} in flattened pytree doesn't match the {fact} {wanted} of the "
                        "corresponding primal."
                    )
        with recording("linearize"):
            return tree_unflatten(_pushed(level, leaves, given), spec)

    return result, jvp_fn
