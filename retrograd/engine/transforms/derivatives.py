"""``torch.func`` by backward passes: functions that compute derivatives of functions and are differentiable in turn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.registry import F
from ..pytree.trees import tree_flatten, tree_unflatten
from ..tensors.tensor import Tensor
from .level import Level, recording, without_saved_hooks

ArgNums = int | tuple[int, ...]
_WHO, _VJP = "grad_and_value(f)(*args)", "vjp(f, *primals)"


def chosen(args: tuple[Any, ...], argnums: ArgNums) -> Any:
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


def replaced(args: tuple[Any, ...], argnums: ArgNums, values: Any) -> list[Any]:
    """The arguments with ``values`` in the places ``argnums``."""
    given = list(args)
    for n, value in (
        zip((argnums,), (values,), strict=True) if isinstance(argnums, int) else zip(argnums, values, strict=True)
    ):
        given[n] = value
    return given


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """What a function returned as output and rest (with ``has_aux``); ``RuntimeError`` unless it is such a pair."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def tensors_only(output: Any, name: str) -> tuple[list[Any], Any]:
    """The outputs in a row and how they are nested; ``RuntimeError`` unless there are some and all are tensors."""
    leaves, spec = tree_flatten(output)
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    return leaves, spec


def refuse_complex(name: str, values: Any, kind: str) -> None:
    """``RuntimeError`` where a Jacobian is asked of complex numbers, which have two derivatives."""
    for i, leaf in enumerate(tree_flatten(values)[0]):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {kind}s to be real but received complex tensor at flattened {kind} idx: {i}"
            )


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of ``func`` (a scalar) by its arguments ``argnums``, and its value.

    With ``has_aux`` ``func`` returns ``(value, anything)`` and the result is ``(gradient, (value, anything))``.
    A gradient has the shape of its argument.  ``RuntimeError`` for an output that is not a real scalar.
    """

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        level = Level(chosen(args, argnums))
        with recording("grad", level.cut), without_saved_hooks():
            with level.guarded((args, kwargs)) as (others, named):
                output, aux = with_aux(func(*replaced(others, argnums, level.values()), **named), has_aux, _WHO)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{_WHO}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim:
                raise RuntimeError(
                    f"{_WHO}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. "
                    "Maybe you wanted to use the vjp or jacrev APIs instead?"
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
    """A function that returns the gradient of ``func`` by its arguments ``argnums``; with ``has_aux`` also the rest.

    It raises what that of ``grad_and_value`` raises.

    >>> import retrograd as torch
    >>> torch.func.grad(lambda x: x**3)(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def derived(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return derived


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``(output, vjp_fn)``: ``vjp_fn(cotangents)``, nested like the output, gives its vector-Jacobian products.

    With ``has_aux`` ``func`` returns ``(output, anything)``, and that is returned as third.  ``RuntimeError`` for
    outputs that are not all tensors, and from ``vjp_fn`` for cotangents nested otherwise.
    """
    level = Level(primals)
    with recording("vjp", level.cut), without_saved_hooks():
        with level.guarded():
            output, aux = with_aux(func(*level.values()), has_aux, _VJP)
        leaves, spec = tensors_only(output, _VJP)
        result = level.left_tree(output)
        rest = level.left_tree(aux) if has_aux else None

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        if cotangents is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs: give vjp_fn a cotangent")
        flat, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_spec}, primal output: {spec}"
            )
        for leaf in flat:
            if not (leaf is None or isinstance(leaf, Tensor)):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(leaf).__name__}")
        level.called()
        with recording("vjp", level.cut):
            return level.gradients(leaves, flat)

    return (result, vjp_fn, rest) if has_aux else (result, vjp_fn)


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of ``func``: shape of output, then of input; one backward per output number.

    Nested like the outputs, and inside like the arguments ``argnums``.  ``RuntimeError`` for outputs that are not all
    tensors of floating-point numbers and for complex arguments, ``ValueError`` for a ``chunk_size`` that is not
    positive; any other one changes nothing.

    >>> import retrograd as torch
    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def derived(*args: Any) -> Any:
        refuse_complex("jacrev", args, "input")
        level = Level(chosen(args, argnums))
        with recording("jacrev", level.cut), without_saved_hooks():
            with level.guarded(args) as others:
                output, aux = with_aux(func(*replaced(others, argnums, level.values())), has_aux, _VJP)
            leaves, spec = tensors_only(output, _VJP)
            refuse_complex("jacrev", output, "output")
            _check_differentiable(leaves)
            found = tree_unflatten([_jacobian(level, leaf) for leaf in leaves], spec)
            return (found, level.left_tree(aux)) if has_aux else found

    return derived


def _check_differentiable(outputs: list[Any]) -> None:
    """``RuntimeError`` for an output of integers."""
    for output in outputs:
        if not (output.is_floating_point() or output.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{output.dtype}"
            )


def _jacobian(level: Level, output: Any) -> Any:
    """The rows of one output's Jacobian, nested as the level's inputs."""
    rows = []
    for i in range(output.numel()):
        unit = output.new_zeros(output.numel())
        unit[i] = 1
        rows.append(tree_flatten(level.gradients([output], [unit.reshape(output.shape)]))[0])
    columns = zip(*rows, strict=True) if rows else [[] for _ in level.inputs]
    made = [
        F.reshape(F.stack(list(column), 0), (*output.shape, *t.shape))
        if column
        else t.new_zeros((*output.shape, *t.shape))
        for column, t in zip(columns, level.inputs, strict=True)
    ]
    return tree_unflatten(made, level.spec)
