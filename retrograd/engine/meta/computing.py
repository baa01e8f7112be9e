"""Results of operators on tensors without memory: computed on zeros of the same shape and strides.

That takes the time, and until the shape is known the memory, of a result; not that of operands, nor of element-wise
results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..aliasing.strided import element_strides
from ..calls.refusals import size_mismatch
from ..core.base import TensorBase, wrap
from ..pytree.trees import tree_flatten, tree_map
from ..switches.modes import no_grad
from .creation import created
from .memory import offset_of, readable
from .tensor import NO_DATA, MetaTensor

# Shapes that are known without computing on zeros: of products and sums, which would take the time of large models.

Shape = tuple[int, ...]
Rule = Callable[..., Shape | None]


def shape_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Shape | None:
    """The shape of what the row of this name makes of operands of one dtype, which it has then, too.

    ``None`` where that is not known here: also where the operator may refuse its operands.
    """
    rule = _RULES.get(name)
    tensors = [a for a in args if isinstance(a, TensorBase)]
    if rule is None or kwargs or any(t._sig.numpy is not tensors[0]._sig.numpy for t in tensors):
        return None
    if tensors[0]._sig.kind not in "fc":
        return None
    return rule(*[tuple(a.shape) if isinstance(a, TensorBase) else a for a in args])


def _mm(a: Shape, b: Shape) -> Shape | None:
    return (a[0], b[1]) if len(a) == len(b) == 2 and a[1] == b[0] else None


def _addmm(bias: Shape, a: Shape, b: Shape, *factors: Any) -> Shape | None:
    shape = _mm(a, b)
    fits = shape is not None and all(n in (1, m) for n, m in zip(bias[::-1], shape[::-1], strict=False))
    return shape if fits and len(bias) <= 2 else None


def _bmm(a: Shape, b: Shape) -> Shape | None:
    fits = len(a) == len(b) == 3 and a[0] == b[0] and a[2] == b[1]
    return (a[0], a[1], b[2]) if fits else None


def _mv(a: Shape, b: Shape) -> Shape | None:
    return a[:1] if len(a) == 2 and a[1:] == b else None


def _along(a: Shape, dim: Any, keepdim: bool = False, dtype: Any = None) -> Shape | None:
    dims = [dim] if isinstance(dim, int) else dim
    if dtype is not None or not dims or not all(-len(a) <= d < len(a) for d in dims):
        return None
    axes = {d % len(a) for d in dims}
    kept = [1 if i in axes else n for i, n in enumerate(a) if keepdim or i not in axes]
    return tuple(kept) if len(axes) == len(dims) else None


_RULES: dict[str, Rule] = {
    "mm": _mm, "addmm": _addmm, "bmm": _bmm, "mv": _mv, "_sum_dim": _along, "_mean_dim": _along,
    "sum": lambda a, dtype=None: () if dtype is None and math.prod(a) else None,
}  # fmt: skip


_BY_VALUE: Final = frozenset({"nonzero", "argwhere", "equal", "allclose", "bincount"})
"""Functions whose result, or its shape, is a matter of values; of rows, the fact ``dynamic`` says it."""
_INDEXING: Final = frozenset({"index", "index_put", "index_put_", "_index", "_index_put"})
"""Operators whose indices may have values."""
_BAGS: Final = ("embedding_bag", "embedding_bag_sparse", "embedding_bag_max")
_MADE: Final = ("new_", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")


def answer(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operator of which some operands have no memory, without memory."""
    name = func.opname
    if name in ("detach", "alias"):
        return args[0].alias()
    if name.startswith(_MADE):
        return created(name, func, args, kwargs)
    leaves = [v for v in tree_flatten((args, kwargs))[0] if isinstance(v, TensorBase)]
    if name == "as_strided":
        return _placed(*args, **kwargs)
    by_mask = name in _INDEXING and any(t._sig.numpy.char in "?B" for t in leaves[1:])
    by_mask = by_mask and not (func.writes and _is_one_number(args[2]))  # which fits into any places
    if by_mask or name in _BY_VALUE or getattr(func.row, "dynamic", None):
        raise NotImplementedError(
            f"aten::{name}: attempted to run this operator with Meta tensors, but its result is a matter of values, "
            "which they do not have (a data-independent implementation does not exist)"
        )
    _check_devices(name, leaves, bool(func.writes))
    if func.writes:
        return _written(func, args, leaves)
    return _computed(func, args, kwargs, leaves)


def _is_one_number(value: Any) -> bool:
    return not isinstance(value, TensorBase) or value.numel() == 1


def _placed(t: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    offset = t._array.offset if storage_offset is None else storage_offset
    return MetaTensor.made(size, t._sig.numpy, tuple(stride), offset)


def _check_devices(name: str, leaves: list[Any], writes: bool) -> None:
    """``RuntimeError`` where tensors with and without memory meet; numbers and indices may have values."""
    is_meta = isinstance(leaves[0], MetaTensor)
    if name == "copy_" and not is_meta:
        raise NotImplementedError(f"{NO_DATA} The target has memory, the source has none.")
    if is_meta and (name in _INDEXING or name in ("copy_", "embedding", *_BAGS)):
        return
    if any(t.ndim or (writes and t is leaves[0]) for t in leaves if not isinstance(t, MetaTensor)):
        here, there = ("cpu", "meta") if is_meta else ("meta", "cpu")
        raise RuntimeError(
            f"Tensor on device {here} is not on the expected device {there}! All operands must have memory, or none."
        )


def _written(func: Any, args: tuple[Any, ...], leaves: list[Any]) -> Any:
    """The first operand, provided that the others fit into it."""
    target = args[0]
    if getattr(func.row, "kind", "") == "elementwise" or func.opname == "copy_":
        shape = _common_shape(leaves)
        if shape != tuple(target.shape):
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
            )
    return target


def _common_shape(leaves: list[Any]) -> tuple[int, ...]:
    try:
        return tuple(np.broadcast_shapes(*[tuple(t.shape) for t in leaves]))
    except ValueError as error:
        raise size_mismatch([t._sig.shape for t in leaves], error) from None


def _computed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
    """The results for zeros, as tensors without memory."""
    known = shape_of(getattr(func.row, "name", ""), args, kwargs)
    if known is not None:
        return MetaTensor.made(known, leaves[0]._sig.numpy)
    alone = getattr(func.row, "kind", "") == "elementwise" and all(t._array.flags.c_contiguous for t in leaves)
    shape = _common_shape(leaves) if alone else None
    try:
        made = _called(func, args, kwargs, _one_element if alone else _zeros)
    except RuntimeError as error:  # zeros are no regular matrix, and nothing is divided by them
        try:
            made = _called(func, args, kwargs, _regular)
        except Exception:
            raise error from None
    return tree_map(lambda v: _without_memory(v, shape) if isinstance(v, TensorBase) else v, made)


def _called(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stand_in: Any) -> Any:
    with no_grad():
        given, named = tree_map(lambda v: stand_in(v) if isinstance(v, MetaTensor) else v, (args, kwargs))
        return func(*given, **named)


def _regular(t: Any) -> Any:
    """Ones on the diagonal of each matrix: there is an inverse, and every decomposition.  Whole numbers are ones."""
    if t.ndim < 2 or t._sig.kind not in "fc":
        return wrap(np.broadcast_to(np.ones((), t._sig.numpy), tuple(t.shape)))
    return wrap(np.broadcast_to(np.eye(*t.shape[-2:], dtype=t._sig.numpy), tuple(t.shape)).copy())


def _zeros(t: Any) -> Any:
    return wrap(readable(t.shape, t._sig.numpy, element_strides(t._array), t._array.offset))


def _one_element(t: Any) -> Any:
    """One element of as many dimensions: all that an element-wise operator has to see for its dtype."""
    return wrap(np.ones((1,) * t.ndim, t._sig.numpy))


def _without_memory(t: Any, shape: tuple[int, ...] | None) -> Any:
    if isinstance(t, MetaTensor):
        return t
    if shape is not None:
        return MetaTensor.made(shape, t._sig.numpy)
    return MetaTensor.made(t.shape, t._sig.numpy, element_strides(t._array), offset_of(t._array))


MetaTensor.answer = staticmethod(answer)
