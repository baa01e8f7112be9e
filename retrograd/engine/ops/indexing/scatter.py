"""Reads and writes by index tensors along one dimension, by masks, and by flat positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calls.refusals import refuse_kind
from ...core.argument_checks import checked_number, held
from ...core.base import TensorBase
from ...core.registry import COMPOSITES, F
from ...kernels.halves import added_at, writing_wide
from ...table.rows import function, linear, underivable
from ..pointwise.arithmetic import raw
from ..reductions.reduce import axes_of, refuse_complex


def check_index(name: str, index: Any) -> None:
    """``RuntimeError`` in torch's words for an index of another dtype; one without elements may have any."""
    if index.size and (index.dtype.kind not in "iu" or index.dtype.itemsize < 4):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def check_bounds(index: Any, dim: int, n: int) -> None:
    """``RuntimeError`` for an index outside ``[0, n)``."""
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = index[(index < 0) | (index >= n)].flat[0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {n}")


def places(self: Any, dim: int, index: Any, name: str) -> Any:
    """NumPy's index for the elements that ``index`` names along ``dim`` (0-d tensors count as 1-d)."""
    check_index(name, index)
    axis = (*axes_of(dim, self.ndim), 0)[0]
    if max(self.ndim, 1) != max(index.ndim, 1) and index.size:
        target = "input" if name == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {target} tensor")
    whole = self.reshape(1) if not self.ndim else self
    at = index.reshape(1) if not index.ndim else index
    for d in range(whole.ndim):
        if d != axis and at.size and at.shape[d] > whole.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {axis}"
            )
    check_bounds(at, axis, whole.shape[axis])
    if not at.size:
        at = at.astype(np.int64).reshape(at.shape if at.ndim == whole.ndim else (0,) * whole.ndim)
    grid = np.ogrid[tuple(slice(n) for n in at.shape)]
    return tuple(at if d == axis else grid[d] for d in range(whole.ndim))


def at_least_1d(a: Any) -> Any:
    """The array; a 0-d one as a view with one element."""
    return a.reshape(1) if not a.ndim else a


def gather(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    """The elements that ``index`` names along ``dim``."""
    return np.array(at_least_1d(self)[places(self, dim, index, "gather")]).reshape(index.shape)


def _gather_backward(g: Any, sizes: tuple[int, ...], dim: int, index: Any) -> Any:
    out = np.zeros(sizes, g.dtype)
    added_at(at_least_1d(out), places(out, dim, index, "gather"), at_least_1d(np.asarray(g)) if index.size else 0)
    return out


linear("gather", gather, tensors="self index", keeps="sparse_grad", layout="rows",
       self=lambda g, index, self, dim: F._gather_backward(g, tuple(self.shape), dim, index))  # fmt: skip
linear("_gather_backward", _gather_backward, tensors="g index", g=lambda g, dim, index: F.gather(g, dim, index))
COMPOSITES["_gather_backward"] = lambda g, sizes, dim, index: F.scatter_add(g.new_zeros(sizes), dim, index, g)


# -- scatter


def _source(self: Any, dim: int, index: Any, src: Any) -> Any:
    """The part of a source that the index reaches (0-d tensors count as 1-d); an empty index reaches nothing."""
    if not index.size:
        return np.zeros((), self.dtype)  # fits every shape of an index
    at, whole = at_least_1d(index), at_least_1d(src)
    if at.ndim != whole.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(n > m for n, m in zip(at.shape, whole.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{dim} and to be no larger size than src {list(src.shape)}"
        )
    return whole[tuple(slice(n) for n in at.shape)]


def _check_source(name: str, self: Any, src: Any) -> None:
    if src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


def _scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
    _check_source("scatter", self, src)
    out = np.array(self)
    at_least_1d(out)[places(self, dim, index, "scatter")] = _source(self, dim, index, src)
    return out


def entry(value: Any, dtype: Any) -> Any:
    """What is written into an array; a number must be one that it can hold."""
    return value if isinstance(value, np.ndarray) or dtype.kind != "f" else held(value, dtype)


def _scatter_number(self: Any, dim: int, index: Any, value: Any) -> Any:
    out = np.array(self)
    at_least_1d(out)[places(self, dim, index, "scatter")] = checked_number(value, self.dtype)
    return out


def _narrowed(src: Any, index: Any) -> Any:
    """The part of a source that the index reached, in the shape of the index."""
    have = tuple(raw(index).shape)
    if tuple(src.shape) == have:
        return src
    for d, n in enumerate((have or (1,)) if src.shape else ()):
        src = F._slice(src, d, 0, n)
    return F.reshape(src, have)


def _widened(g: Any, index: Any, sizes: Any) -> Any:
    """Gradients of the part that the index reached, zeros for the rest of the source."""
    have = tuple(raw(index).shape)
    if have == tuple(sizes):
        return g
    if not sizes:
        return F.sum(g)
    have = have or (1,) if 0 not in have else (0,) * len(sizes)
    padding = [p for n, m in zip(sizes[::-1], have[::-1], strict=True) for p in (0, n - m)]
    return F.constant_pad_nd(F.reshape(g, have), padding)


def _source_back(g: Any, dim: int, index: Any, src_sizes: Any) -> Any:
    return _widened(F.gather(g, dim, index), index, src_sizes)


linear("_scatter", _scatter, node="ScatterBackward0", tensors="self index src",
       self=lambda g, dim, index: F._scatter_number(g, dim, index, 0), src=_source_back, layout="rows")  # fmt: skip
function("_scatter_number", _scatter_number, node="ScatterBackward1", tensors="self index",
         layout="rows", self=lambda g, dim, index: F._scatter_number(g, dim, index, 0),
         jvp=lambda primal, tangents, results: F._scatter_number(tangents[0], primal[1], primal[2], 0))  # fmt: skip


def _scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy with ``src`` added at the places that ``index`` names."""
    _check_source("scatter", self, src)
    out = np.array(self)
    if index.size:
        added = _source(self, dim, index, src)
        added_at(at_least_1d(out), places(self, dim, index, "scatter_add"), added)
    return out


linear(
    "scatter_add",
    _scatter_add,
    tensors="self index src",
    inplace=True,
    self=lambda g: g,
    src=_source_back,
    layout="rows",
)

_REDUCE: dict[str, Any] = {
    "sum": np.add, "add": np.add, "mean": np.add, "prod": np.multiply, "multiply": np.multiply, "amax": np.maximum,
    "amin": np.minimum,
}  # fmt: skip
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _identity(reduce: str, dtype: Any) -> Any:
    if reduce in ("sum", "add", "mean"):
        return 0
    if reduce in ("prod", "multiply"):
        return 1
    limits = (np.finfo(dtype).min, np.finfo(dtype).max) if dtype.kind == "f" else (0, 1)
    if dtype.kind in "iu":
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    infinite = dtype.kind == "f"
    if reduce == "amax":
        return -np.inf if infinite else limits[0]
    return np.inf if infinite else limits[1]


def reduced_at(out: Any, where: Any, values: Any, reduce: str, include_self: bool) -> None:
    """Reduce values into ``out`` (in place)."""
    if reduce in ("amax", "amin"):
        refuse_complex(f"reduction by {reduce}", out)
    if not include_self:
        out[where] = _identity(reduce, out.dtype)
    _REDUCE[reduce].at(out, where, values)
    if reduce == "mean":
        count = np.full(out.shape, int(include_self))
        np.add.at(count, where, 1)
        count[count == 0] = 1
        out[...] = out / count if out.dtype.kind in "fc" else np.floor_divide(out, count)


def _scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    _check_source("scatter", self, src)
    if reduce == "mean":
        refuse_kind("scatter_gather_tensor_cpu_reduce_mean", self.dtype, "fciu")
    out = np.array(self)
    where = places(self, dim, index, "scatter_reduce")
    if index.size:
        source = _source(self, dim, index, src)
        writing_wide(reduced_at, at_least_1d(out), where, source, reduce, include_self)
    return out


def _refused(g: Any, message: str) -> Any:
    raise RuntimeError(message)


linear("_derived_once", lambda self, message: self.copy(), node="Error", self=lambda g, message: _refused(g, message))


def reduce_shares(
    g: Any, words: tuple[str, str], self: Any, index: Any, src: Any, result: Any, ops: Any, reduce: str,
    include_self: bool,
) -> Any:  # fmt: skip
    """Gradients of a reduction into places, for ``self`` and for ``src``; ``ops`` reads, adds and reduces there.

    ``words`` are PyTorch's for the operator and for ``src``.
    """
    read, add, _, overwrite = ops
    if reduce == "sum":
        mine, theirs = g, read(g)
    elif reduce == "mean":
        base = F.ones_like(g) if include_self else F.zeros_like(g)
        count = add(base, F.ones_like(src))
        g = g / F.masked_fill(count, count == 0, 1.0)
        mine, theirs = g, read(g)
    elif reduce == "prod":
        mine, theirs = _product_shares(g, self, src, result, ops, words)
    else:
        hit_self = (self == result) * F.ones_like(g)
        hit_src = (src == read(result)) * F.ones_like(src)  # (PyTorch also counts a ``self`` that takes no part)
        g = g / add(hit_self, hit_src)
        mine, theirs = hit_self * g, hit_src * read(g)
    if not include_self:
        mine = overwrite(mine)
    return mine, theirs


def _product_shares(g: Any, self: Any, src: Any, result: Any, ops: Any, words: tuple[str, str]) -> Any:
    read, add, again, _ = ops
    filled = F.masked_fill(self, self == 0, 1.0)
    mine = g * again(filled, src) / filled
    zero = src == 0
    count = read(add(F.zeros_like(g), zero * F.ones_like(src)))
    single = F.logical_and(zero, count == 1)
    without = again(self, F.masked_fill(src, single, 1.0))
    plain = read(g * result) / F.masked_fill(src, zero, 1.0)
    theirs = F._where(single, read(g * without), plain)
    if isinstance(theirs, TensorBase) and raw(F.logical_and(zero, count > 1)).any():
        name, source = words
        theirs = F._derived_once(
            theirs,
            f"{name}(): Double backward is unsupported for {source} when >1 zeros in {source} are scattered to the "
            "same position in self",
        )
    return mine, theirs


def _scatter_reduce_back(
    g: Any, needs: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any
) -> Any:
    """Gradients of ``self`` and ``src``, shared among equal elements for ``amax`` and ``amin``."""
    if not raw(index).size:
        return g, F.zeros_like(src)
    sizes = tuple(src.shape)
    src = _narrowed(src, index)
    ops = (
        lambda x: F.gather(x, dim, index),
        lambda x, y: F.scatter_add(x, dim, index, y),
        lambda x, y: F._scatter_reduce(x, dim, index, y, "prod", include_self),
        lambda x: F._scatter_number(x, dim, index, 0),
    )
    words = ("scatter_reduce", "src")
    mine, theirs = reduce_shares(g, words, self, index, src, result, ops, reduce, include_self)
    return mine if needs[0] else None, _widened(theirs, index, sizes) if needs[1] else None


function("_scatter_reduce", _scatter_reduce, node="ScatterReduceBackward0", tensors="self index src",
         constant="index", joint=_scatter_reduce_back, real_only="scatter_reduce", layout="rows")  # fmt: skip


def _scatter_with(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    """The old ``scatter(..., reduce="add" or "multiply")``; it has no gradient in torch."""
    out = np.array(self)
    where = places(self, dim, index, "scatter")
    if index.size:
        source = _source(self, dim, index, src) if isinstance(src, np.ndarray) else checked_number(src, self.dtype)
        _REDUCE[reduce].at(at_least_1d(out), where, source)
    return out


underivable("_scatter_with", _scatter_with, tensors="self index src", layout="rows")
