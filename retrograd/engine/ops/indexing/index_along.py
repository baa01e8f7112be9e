"""Reads and writes whole slices by a vector of indices, by masks, and by flat positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calls.refusals import refuse_kind
from ...core.dtypes import scalar_name
from ...core.registry import COMPOSITES, F
from ...kernels.halves import added_at
from ...switches import determinism
from ...table.rows import function, linear
from ..pointwise.arithmetic import element, raw, scaled
from ..reductions.reduce import axes_of
from .scatter import at_least_1d, check_index, entry, reduce_shares, reduced_at


def _at(self: Any, dim: int, index: Any, name: str) -> tuple[Any, ...]:
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
                         f"{scalar_name(index.dtype)} and size: {list(index.shape)}")  # fmt: skip
    check_index(name, index)
    axis = (*axes_of(dim, self.ndim), 0)[0]
    n = self.shape[axis] if self.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= n):
        if name == "index_copy":
            bad = index[(index < 0) | (index >= n)].flat[0]
            raise IndexError(f"index_copy_(): index {bad} is out of bounds for dimension {axis} with size {n}")
        if name == "index_add" and self.ndim > 1:
            bad = index[(index < 0) | (index >= n)].flat[0]
            raise RuntimeError(f"index {bad} is out of bounds for dimension {axis} with size {n}")
        if name == "index_select" and not n:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise IndexError("index out of range in self")
    return (slice(None),) * axis + (index.reshape(-1),)


def _index_select(self: Any, dim: int, index: Any) -> Any:
    """The slices of ``dim`` that ``index`` names."""
    if not self.ndim and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    out = np.array(at_least_1d(self)[_at(self, dim, index, "index_select")])
    return out if self.ndim else out.reshape(())


def _index_select_backward(g: Any, sizes: tuple[int, ...], dim: int, index: Any) -> Any:
    out = np.zeros(sizes, g.dtype)
    added_at(at_least_1d(out), _at(out, dim, index, "index_select"), at_least_1d(np.asarray(g)))
    return out


linear("index_select", _index_select, as_given=True, tensors="self index", layout="rows",
       self=lambda g, self_sizes, dim, index: F._index_select_backward(g, tuple(self_sizes), dim, index))  # fmt: skip
linear("_index_select_backward", _index_select_backward, tensors="g index",
       g=lambda g, dim, index: F.index_select(g, dim, index))  # fmt: skip
COMPOSITES["_index_select_backward"] = lambda g, sizes, dim, index: F._index_add(g.new_zeros(sizes), dim, index, g)


def _same(name: str, self: Any, source: Any) -> None:
    if self.dtype != source.dtype:
        raise RuntimeError(f"{name}(): self and source expected to have the same dtype, but got (self) {self.dtype} "
                           f"and (source) {source.dtype}")  # fmt: skip


def _slices_of(self: Any, dim: int, index: Any, source: Any, name: str) -> Any:
    """The source as NumPy writes it; ``RuntimeError`` or ``IndexError`` for other sizes."""
    if name == "index_copy" and index.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {scalar_name(index.dtype)}")
    _same(name, self, source)
    _check_dimensions(name, self, index, source)
    axis = (*axes_of(dim, self.ndim), 0)[0]
    lines, whole = at_least_1d(source), at_least_1d(self)
    if lines.ndim != whole.ndim or any(n != m for d, (n, m) in enumerate(zip(lines.shape, whole.shape, strict=True))
                                       if d != axis):  # fmt: skip
        raise _other_shape(name, self, source)
    if lines.shape[axis] != index.size:
        raise (IndexError if name == "index_copy" else RuntimeError)(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim) ({lines.shape[axis]})"
        )
    return lines


def _other_shape(name: str, self: Any, source: Any) -> RuntimeError:
    return RuntimeError(
        f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
        f"self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
    )


def _check_dimensions(name: str, self: Any, index: Any, source: Any) -> None:
    """A source without dimensions means one slice; only ``index_copy`` accepts one slice for no dimension."""
    if not source.ndim and index.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {index.size})"
            if name == "index_copy"
            else f"{name}(): Dimension specified as 0 but tensor has no dimensions (the source of {index.size} slices)"
        )
    if name == "index_copy" and self.ndim != source.ndim and self.ndim and source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if name != "index_copy" and bool(source.ndim) != bool(self.ndim):
        raise _other_shape(name, self, source)


def _index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    out = np.array(self)
    values = _slices_of(self, dim, index, source, "index_add")
    scaled = values if alpha == 1 else values * element(alpha, self.dtype)
    added_at(at_least_1d(out), _at(self, dim, index, "index_add"), scaled)
    return out


def _slices_back(g: Any, dim: int, index: Any, source: Any) -> Any:
    picked = F.index_select(g, dim, index)
    return picked if len(g.shape) == len(source.shape) else F.reshape(picked, tuple(source.shape))


linear(
    "_index_add", _index_add, node="IndexAddBackward0", tensors="self index source", self=lambda g: g,
    source=lambda g, dim, index, source, alpha: scaled(
        F.expand(_slices_back(g, dim, index, source), tuple(source.shape)), alpha),
    keeps="source_sizes", layout="rows",
)  # fmt: skip


def _index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    """A copy whose slices at ``index`` along ``dim`` are those of ``source``."""
    out = np.array(self)
    at_least_1d(out)[_at(self, dim, index, "index_copy")] = _slices_of(self, dim, index, source, "index_copy")
    return out


linear("index_copy", _index_copy, tensors="self index source", inplace=True,
       self=lambda g, dim, index: F._index_fill_number(g, dim, index, 0), source=_slices_back,
       keeps="source_sizes", layout="rows")  # fmt: skip


def _index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    out = np.array(self)
    at_least_1d(out)[_filled_places(self, dim, index)] = entry(value, self.dtype)
    return out


def _filled_places(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Unlike its sisters, ``index_fill`` also counts from the end."""
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    axis = (*axes_of(dim, self.ndim), 0)[0]
    n = self.shape[axis] if self.ndim else 1
    for i in index[(index < -n) | (index >= n)].reshape(-1)[:1]:
        raise IndexError(f"index {i} is out of bounds for dimension {axis} with size {n}")
    return (slice(None),) * axis + (index.reshape(-1) % max(n, 1),)


def _filled_back(g: Any, dim: int, index: Any) -> Any:
    n = g.shape[dim] if g.shape else 1
    return F.sum(F.index_select(g, dim, np.unique(raw(index) % max(n, 1))))


function("_index_fill_number", _index_fill, node="IndexFillBackward0", tensors="self index", layout="copy",
         self=lambda g, dim, index: F._index_fill_number(g, dim, index, 0),
         jvp=lambda primal, tangents, results: F._index_fill_number(tangents[0], primal[1], primal[2], 0))  # fmt: skip
linear("_index_fill_tensor", _index_fill, node="IndexFillBackward1", tensors="self index value", layout="copy",
       self=lambda g, dim, index: F._index_fill_number(g, dim, index, 0),
       value=_filled_back)  # fmt: skip


def _index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f'index_reduce(): Expected reduce to be one of "prod", "mean", "amax" or "amin" but got {reduce}.'
        )
    if reduce == "mean" or not include_self:
        kernel = "div_floor_cpu" if include_self else "index_reduce_func_exclude_input_init"
        refuse_kind(kernel, self.dtype, "fciu")
    else:
        refuse_kind("index_func_", self.dtype, "fciu")
    out = np.array(self)
    values = _slices_of(self, dim, index, source, "index_reduce")
    reduced_at(at_least_1d(out), _at(self, dim, index, "index_reduce"), values, reduce, include_self)
    return out


def _index_reduce_back(
    g: Any, needs: Any, self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any
) -> Any:
    ops = (
        lambda x: F.index_select(x, dim, index),
        lambda x, y: F._index_add(x, dim, index, y),
        lambda x, y: F._index_reduce(x, dim, index, y, "prod", include_self),
        lambda x: F._index_fill_number(x, dim, index, 0),
    )
    words = ("index_reduce", "source")
    shares = reduce_shares(g, words, self, index, source, result, ops, reduce, include_self)
    return tuple(share if need else None for share, need in zip(shares, needs, strict=True))


function("_index_reduce", _index_reduce, node="IndexReduceBackward0", tensors="self index source", constant="index",
         joint=_index_reduce_back, real_only="index_reduce", layout="rows")  # fmt: skip


# -- masks


def _check_mask(name: str, mask: Any) -> None:
    if mask.dtype.kind != "b":
        if name != "masked_scatter":
            raise RuntimeError(f"{name}: expected BoolTensor for mask")
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {scalar_name(mask.dtype)}"
        )


def _masked_select(self: Any, mask: Any) -> Any:
    """The elements where ``mask`` holds, in one dimension."""
    _check_mask("masked_select", mask)
    shape = np.broadcast_shapes(self.shape, mask.shape)
    return np.array(np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]).reshape(-1)


def _masked_select_backward(g: Any, sizes: tuple[int, ...], mask: Any) -> Any:
    shape = np.broadcast_shapes(sizes, mask.shape)
    out = np.zeros(shape, g.dtype)
    out[np.broadcast_to(mask, shape)] = g
    return out


linear("masked_select", _masked_select, as_given=True, tensors="self mask", dynamic="mask",
       self=lambda g, self, mask: F.sum_to_size(
           F._masked_select_backward(g, tuple(self.shape), mask), tuple(self.shape)))  # fmt: skip
linear("_masked_select_backward", _masked_select_backward, tensors="g mask", g=lambda g, mask, sizes:
       F.masked_select(F.expand(g, np.broadcast_shapes(sizes, tuple(mask.shape))), mask))  # fmt: skip


COMPOSITES["_masked_select_backward"] = lambda g, sizes, mask: F.masked_scatter(
    g.new_zeros(np.broadcast_shapes(sizes, tuple(mask.shape))), mask, g
)


def _masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """A copy with the elements of ``source``, in order, where ``mask`` holds."""
    _check_mask("masked_scatter", mask)
    if self.dtype != source.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {self.dtype} and "
                           f"{source.dtype}")  # fmt: skip
    shape = np.broadcast_shapes(self.shape, mask.shape)
    out, where = np.array(np.broadcast_to(self, shape)), np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(where))
    if count > source.size:
        raise RuntimeError("masked_scatter: expected source to have at least as many elements as mask has true values")
    out[where] = source.reshape(-1)[:count]
    return out


def _masked_scatter_source(g: Any, mask: Any, source_sizes: Any) -> Any:
    taken = F.masked_select(g, mask)
    count, total = raw(taken).size, int(np.prod(source_sizes))
    return F.reshape(F.constant_pad_nd(taken, [0, total - count]), tuple(source_sizes))


linear("masked_scatter", _masked_scatter, tensors="self mask source", inplace=True,
       self=lambda g, mask: F._kept(g, mask, False), source=_masked_scatter_source, layout="rows")  # fmt: skip


# -- flat places


def _flat(index: Any, size: int, name: str) -> Any:
    check_index(name, index)
    if index.dtype != np.int64:
        called = "put_" if name == "put" else name
        raise RuntimeError(f"{called}(): Expected a long tensor for index, but got {scalar_name(index.dtype)}")
    if name == "take" and index.size and not size:
        raise IndexError("take(): tried to take from an empty tensor")
    if index.size and (index.min() < -size or index.max() >= size):
        bad = index[(index < -size) | (index >= size)].flat[0]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {size} elements.")
    return index


def _take(self: Any, index: Any) -> Any:
    """The elements at flat indices."""
    return np.array(self.reshape(-1)[_flat(index, self.size, "take")])


def _put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """A copy with ``source`` written (or added) at flat places."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_name(self.dtype)} and source.dtype = {scalar_name(source.dtype)}"
        )
    if source.size != index.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if not accumulate:
        determinism.check("put_")
    out = np.array(self, order="C")
    where = _flat(index, self.size, "put_").reshape(-1)
    if accumulate:
        np.add.at(out.reshape(-1), where, source.reshape(-1))
    else:
        out.reshape(-1)[where] = source.reshape(-1)
    return out


def _put_self(g: Any, index: Any, accumulate: bool) -> Any:
    return g if accumulate else F.put(g, index, F.zeros_like(F.take(g, index)), False)


linear("put", _put, tensors="self index source", inplace=True, self=_put_self,
       source=lambda g, index, source: F.reshape(F.take(g, index), tuple(source.shape)), layout="copy")  # fmt: skip
linear("take", _take, tensors="self index",
       self=lambda g, self, index: F._take_backward(g, tuple(self.shape), index), layout="rows")  # fmt: skip


def _take_backward(g: Any, sizes: tuple[int, ...], index: Any) -> Any:
    out = np.zeros(int(np.prod(sizes)), g.dtype)
    np.add.at(out, index, g)
    return out.reshape(sizes)


linear("_take_backward", _take_backward, tensors="g index", g=lambda g, index: F.take(g, index))
COMPOSITES["_take_backward"] = lambda g, sizes, index: F.put(g.new_zeros(sizes), index, g, True)
