"""Reductions to products, spreads, extremes and their like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..table.registry import F
from ..table.rows import function, linear, nondifferentiable, underivable
from ..tensors.absent import AbsentMemory, refusal
from ..tensors.base import TensorBase
from ..tensors.dtypes import to_numpy_dtype
from .arithmetic import conj
from .reduce import axes_of, count_of, reached, refuse_complex, scatter_back, selected_tangent, spread


def raw(x: Any) -> Any:
    """The array behind a tensor or array: for questions about values that steer a rule."""
    if not isinstance(x, TensorBase):
        return np.asarray(x)
    if x._array.__class__ is AbsentMemory:
        raise refusal("a value")
    return x._array


def all_nonzero(x: Any) -> bool:
    """Whether a tensor or array surely has no zero; of one without data nobody can know."""
    return getattr(x, "_array", x).__class__ is not AbsentMemory and bool(raw(x).all())


def restored(value: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced value with its reduced dimensions back, of size one."""
    if keepdim or not sizes:
        return value
    return F.reshape(value, tuple(1 if i in axes_of(dim, len(sizes)) else n for i, n in enumerate(sizes)))


# -- products


def accumulation_dtype(self: Any, dtype: Any) -> Any:
    """The dtype that sums and products are computed in: ``int64`` for integers, unless another one is asked for."""
    if dtype is not None:
        return to_numpy_dtype(dtype)
    return np.dtype(np.int64) if self.dtype.kind in "biu" else self.dtype


def _prod(self: Any, dtype: Any = None) -> Any:
    return np.multiply.reduce(self, axis=None, dtype=accumulation_dtype(self, dtype))


def _prod_dim(self: Any, dim: int, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = axes_of(dim, self.ndim)
    multiply: Any = np.multiply
    return multiply.reduce(self, axis=axes, dtype=accumulation_dtype(self, dtype), keepdims=keepdim)


def product_of_others(self: Any, dim: int) -> Any:
    """For each element along ``dim`` the product of all others; right for zeros, too."""
    n = self.shape[dim]
    one = F.ones_like(F._slice(self, dim, 0, min(n, 1)))
    before = F.cat([one, F.cumprod(F._slice(self, dim, 0, n - 1), dim)], dim)
    after = F.cat([one, F.cumprod(F.flip(F._slice(self, dim, 1, n), (dim,)), dim)], dim)
    return before * F.flip(after, (dim,))


def _prod_back(g: Any, self: Any, result: Any) -> Any:
    shape = tuple(self.shape)
    if not shape:
        return g
    if 0 in shape:
        return F.zeros_like(self)
    if all_nonzero(self):
        return g * conj(result / self)
    if g.__class__ is np.ndarray and np.count_nonzero(self == 0) > 1:
        return np.zeros_like(self)  # also beside NaN and infinity; where a graph is created, PyTorch multiplies, too
    flat = F.reshape(self, (math.prod(shape),))
    return F.reshape(g * conj(product_of_others(flat, 0)), shape)


def _prod_dim_back(g: Any, self: Any, result: Any, dim: int, keepdim: bool) -> Any:
    shape = tuple(self.shape)
    if not shape:
        return g
    axis = axes_of(dim, len(shape))[0]
    g, result = (restored(v, shape, axis, keepdim) for v in (g, result))
    if 0 in shape:
        return F.zeros_like(self)
    if all_nonzero(self):
        return g * conj(result / self)
    return g * conj(product_of_others(self, axis))


function("_prod", _prod, node="ProdBackward0", self=_prod_back)
function("_prod_dim", _prod_dim, node="ProdBackward1", self=_prod_dim_back)


# -- spreads


def _var(self: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    if self.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    axes = axes_of(dim, self.ndim)
    mean = np.mean(self, axis=axes, keepdims=True) if self.size else self.dtype.type(0)
    distance = np.abs(self - mean)
    freedom = max(count_of(self.shape, dim) - correction, 0)
    total = np.sum(distance * distance, axis=axes, keepdims=keepdim)
    return np.divide(total, total.dtype.type(freedom))


def _var_back(g: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    sizes = tuple(self.shape)
    count = count_of(sizes, dim)
    g = restored(g, sizes, dim, keepdim)
    distance = self - F._mean_dim(self, dim, True)
    if count - correction <= 0:
        return g * F._where(distance == 0, distance * np.nan, distance * np.inf)
    return g * distance * (2.0 / (count - correction))


def _std(self: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    return np.sqrt(_var(self, dim, correction, keepdim))


def _std_back(g: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    still = result == 0
    return _var_back(
        F.masked_fill(g, still, 0.0) / F.masked_fill(result * 2, still, 1.0), self, dim, correction, keepdim
    )


def _mean_too(spread_of: Any) -> Any:
    def forward(self: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
        value = spread_of(self, dim, correction, keepdim)
        return value, np.mean(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)

    return forward


def _mean_share(g: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    return spread(g, tuple(sizes), dim, keepdim) / max(count_of(sizes, dim), 1)


def _var_mean_back(g: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _var_back(g[0], self, dim, correction, keepdim) + _mean_share(g[1], self.shape, dim, keepdim)


def _std_mean_back(g: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    first = _std_back(g[0], self, result[0], dim, correction, keepdim)
    return first + _mean_share(g[1], self.shape, dim, keepdim)


function("_var", _var, node="VarBackward0", self=_var_back)
function("_std", _std, node="StdBackward0", self=_std_back)
function("_var_mean", _mean_too(_var), node="VarMeanBackward0", outputs=2, self=_var_mean_back)
function("_std_mean", _mean_too(_std), node="StdMeanBackward0", outputs=2, self=_std_mean_back)


# -- extremes whose gradient is shared among ties


def _needs_elements(name: str, self: Any, dim: Any) -> None:
    refuse_complex(name, self)
    axes = axes_of(dim, self.ndim)
    if any(self.shape[a] == 0 for a in axes):
        if dim is None or dim == ():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {axes[0]} to have non-zero size.")


def _amax(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest elements; ties share the gradient."""
    _needs_elements("amax", self, dim)
    most: Any = np.maximum
    return most.reduce(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def _amin(self: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest elements; ties share the gradient."""
    _needs_elements("amin", self, dim)
    least: Any = np.minimum
    return least.reduce(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def shared(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """A gradient divided evenly among the elements equal to the result."""
    sizes = tuple(self.shape)
    hit = self == restored(result, sizes, dim, keepdim)
    count = F._sum_dim(hit, dim, True)
    return restored(g, sizes, dim, keepdim) * hit / count


function("amax", _amax, self=shared)
function("amin", _amin, self=shared)


def _aminmax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return _amin(self, dim, keepdim), _amax(self, dim, keepdim)


def _aminmax_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    low, high = result
    return shared(g[0], self, low, dim, keepdim) + shared(g[1], self, high, dim, keepdim)


function("_aminmax", _aminmax, node="AminmaxBackward0", outputs=2, self=_aminmax_back)


# -- medians and modes


def _middle(self: Any, ignore_nan: bool) -> Any:
    """Index of the lower median along the last axis; NaN counts as the largest, and wins unless it is ignored."""
    refuse_complex("median", self)
    if self.dtype.kind == "b":
        raise NotImplementedError("median is not implemented for bool; convert with .to(torch.uint8) first")
    order = np.argsort(self, axis=-1, kind="stable")
    n = self.shape[-1]
    if self.dtype.kind != "f":
        return order[..., (n - 1) // 2]
    missing = np.isnan(self)
    count = n - missing.sum(-1)
    place = np.maximum(count - 1, 0) // 2
    if not ignore_nan:
        return np.where(count < n, np.argmax(missing, -1), np.take_along_axis(order, place[..., None], -1)[..., 0])
    return np.take_along_axis(order, place[..., None], -1)[..., 0]


def _median_all(ignore_nan: bool) -> Any:
    def forward(self: Any) -> Any:
        refuse_complex("median", self)
        flat = self.reshape(-1)
        if not flat.size:
            return np.asarray(self.dtype.type(np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min))
        return np.asarray(flat[_middle(flat, ignore_nan)])

    return forward


def _share_all(g: Any, self: Any, result: Any) -> Any:
    hit = reached(self, result)
    return g * hit / F.sum(hit)


def select_along(choose: Any) -> Any:
    """A forward that picks one element along a dimension: values and indices."""

    def forward(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
        refuse_complex("median or mode", self)
        if self.ndim == 0:
            axes_of(dim, 0)
            return self.copy(), np.zeros((), np.int64)
        axis = axes_of(dim, self.ndim)[0]
        if self.shape[axis] == 0:
            raise IndexError(f"Expected reduction dim {axis} to have non-zero size.")
        moved = np.moveaxis(self, axis, -1)
        indices = np.asarray(choose(moved), np.int64)
        values = np.take_along_axis(moved, indices[..., None], -1)[..., 0]
        if keepdim:
            return np.expand_dims(values, axis), np.expand_dims(indices, axis)
        return values, indices

    return forward


def _most_frequent(moved: Any) -> Any:
    """Index of the last occurrence of the most frequent (among those the smallest) value."""
    flat = moved.reshape(-1, moved.shape[-1])
    found = np.zeros(len(flat), np.int64)
    for i, row in enumerate(flat):
        values, counts = np.unique(row, return_counts=True)
        found[i] = np.flatnonzero(row == values[np.argmax(counts)])[-1]
    return found.reshape(moved.shape[:-1])


def selecting(name: str, choose: Any, node: str) -> None:
    """A row that picks one element along a dimension; the gradient goes there."""
    function(name, select_along(choose), node=node, results="values indices", nondiff=(1,), self=scatter_back,
             jvp=selected_tangent)  # fmt: skip


function("_median_all", _median_all(False), node="MedianBackward0", self=_share_all)
function("_nanmedian_all", _median_all(True), node="NanmedianBackward0", self=_share_all)
selecting("_median", lambda a: _middle(a, False), "MedianBackward1")
selecting("_nanmedian", lambda a: _middle(a, True), "NanmedianBackward1")
selecting("_mode", _most_frequent, "ModeBackward0")


# -- sums


def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """``log(sum(exp(input)))`` without overflow."""
    axes = axes_of(dim, self.ndim)
    if not self.size:
        return np.log(np.sum(np.exp(self), axis=axes, keepdims=keepdim))
    largest: Any = np.max(self.real, axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, largest.dtype.type(0))
    total = np.log(np.add.reduce(np.exp(self - largest), axis=axes, keepdims=True)) + largest
    return total if keepdim else np.asarray(np.squeeze(total, axes))


def _logsumexp_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    sizes = tuple(self.shape)
    return restored(g, sizes, dim, keepdim) * conj(F.exp(self - restored(result, sizes, dim, keepdim)))


function("logsumexp", _logsumexp, promote="float", self=_logsumexp_back)


def _nansum(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if self.dtype.kind == "c":
        raise RuntimeError("nansum does not support complex inputs")
    clean = np.where(np.isnan(self), self.dtype.type(0), self) if self.dtype.kind in "fc" else self
    return np.add.reduce(clean, axis=axes_of(dim, self.ndim), keepdims=keepdim, dtype=accumulation_dtype(self, dtype))  # type: ignore[call-overload]


linear(
    "_nansum", _nansum, node="NansumBackward0",
    self=lambda g, self, dim, keepdim: spread(g, tuple(self.shape), dim, keepdim) * F.logical_not(F.isnan(self)),
    jvp=lambda primal, tangents, results: F._sum_dim(
        tangents[0] * F.logical_not(F.isnan(primal[0])), *primal[1:3]
    ),
)  # fmt: skip


def _count_nonzero(self: Any, dim: Any = None) -> Any:
    return np.asarray(np.count_nonzero(self, axis=axes_of(dim, self.ndim)), np.int64)


nondifferentiable("_count_nonzero", _count_nonzero)


def _histc(self: Any, bins: int, limits: Any) -> Any:
    return np.histogram(self, bins, limits)[0].astype(self.dtype)


nondifferentiable("_histc", _histc)


def _histogram(self: Any, edges: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights, or densities) between the edges, and the edges."""
    weights = None if weight is None else weight.reshape(-1)
    counts, edges = np.histogram(self.reshape(-1), edges, weights=weights, density=density)
    return counts.astype(self.dtype), edges.astype(self.dtype)


underivable("_histogram", _histogram, tensors="self edges weight", outputs=2)


def _weighted_bincount(self: Any, weights: Any, minlength: int) -> Any:
    """Sums of weights by the numbers beside them, in double precision but for single weights."""
    return np.bincount(self, weights, minlength).astype(np.float32 if weights.dtype == np.float32 else np.float64)


underivable("_weighted_bincount", _weighted_bincount, tensors="self weights", aten="bincount")


def _histogramdd(self: Any, edges: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights, or densities) of points in a grid."""
    weights = None if weight is None else weight.reshape(-1)
    points = self.reshape(-1, self.shape[-1])
    return np.histogramdd(points, edges, weights=weights, density=density)[0].astype(self.dtype)


for _how in ("bin_cts", "bin_tensors"):
    underivable(f"_histogramdd_from_{_how}", _histogramdd, tensors="self weight", aten=f"_histogramdd_from_{_how}")
underivable("_histogramdd_bin_edges", lambda self, weight, edges: edges, tensors="self weight", outputs="many",
            aten="_histogramdd_bin_edges")  # fmt: skip
