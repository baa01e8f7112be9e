"""Extremes and variances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.halves import rounded_once
from ...kernels.selecting import MOST, SORTING, last_in_order
from ...kernels.sums import summed
from ...rules.by_number import over, times
from ...table.rows import function
from .reduce import (
    along,
    axes_of,
    count_of,
    mean_of,
    reached,
    refuse_complex,
    restored,
    scatter_back,
    selected_tangent,
    spread,
    unsqueezed,
)

# The largest and the smallest elements, medians and modes.


def _needs_elements(name: str, self: Any, dim: Any) -> None:
    axes = axes_of(dim, self.ndim)
    if any(self.shape[a] == 0 for a in axes):
        if dim is None or dim == ():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {axes[0]} to have non-zero size.")
    refuse_complex(name, self)


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
    return restored(g, sizes, dim, keepdim) / count * hit


function("amax", _amax, self=shared, layout="rows")
function("amin", _amin, self=shared, layout="rows")


def _aminmax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None and not self.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return _amin(self, dim, keepdim), _amax(self, dim, keepdim)


def _aminmax_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    low, high = result
    return shared(g[0], self, low, dim, keepdim) + shared(g[1], self, high, dim, keepdim)


function("_aminmax", _aminmax, node="AminmaxBackward0", outputs=2, self=_aminmax_back, layout="rows")


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


def _nan_as_integer(dtype: Any) -> int:
    """What C makes of NaN."""
    return int(np.iinfo(dtype).min) if dtype.itemsize > 2 else int(dtype.kind == "b")


def _median_all(ignore_nan: bool) -> Any:
    def forward(self: Any) -> Any:
        refuse_complex("median", self)
        flat = self.reshape(-1)
        if not flat.size:
            return np.asarray(self.dtype.type(np.nan if self.dtype.kind == "f" else _nan_as_integer(self.dtype)))
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
        indices = np.asarray(choose(moved), np.int64, order="C")
        values = np.take_along_axis(moved, indices[..., None], -1)[..., 0]
        if keepdim:
            return np.expand_dims(values, axis), np.expand_dims(indices, axis)
        return values, indices

    return forward


def _last_place(row: Any, value: Any) -> int:
    return int(np.flatnonzero(row == value)[-1])


def _most_frequent(moved: Any) -> Any:
    """Index of the last, in order, of the most frequent (among those the smallest) value; NaN only if all are."""
    flat = moved.reshape(-1, moved.shape[-1])
    found = np.zeros(len(flat), np.int64)
    last_of = last_in_order if SORTING * flat.size <= MOST else _last_place
    for i, row in enumerate(flat):
        values, counts = np.unique(row[row == row], return_counts=True)
        if values.size:
            found[i] = last_of(row, values[np.argmax(counts)])
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


# Variances and standard deviations, with the mean or without.


def _lost(correction: Any) -> Any:
    """How many degrees of freedom are lost: one, where nobody says."""
    return 1 if correction is None else correction


def _distances(self: Any, axes: tuple[int, ...], count: int) -> Any:
    """The distances from the mean, in double precision: no mean in single precision is near enough to 10,000 ± 0.01.

    Those of equal elements are 0, so that a deviation of 0 is known for one.
    """
    wide = np.dtype({"f": "d", "F": "D"}.get(self.dtype.char, self.dtype.char))
    mean = summed(self, axes, True, wide) / count
    distances = np.asarray(np.subtract(self, mean, dtype=wide))
    if wide != self.dtype or not self.size:
        return distances
    nearer = mean + summed(distances, axes, True) / count
    return distances if np.array_equal(nearer, mean) else np.asarray(self - nearer)


def _variance(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    if self.dtype.kind not in "fc":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    axes = axes_of(dim, self.ndim)
    distances = _distances(self, axes, max(count_of(self.shape, dim), 1))
    freedom = max(count_of(self.shape, dim) - _lost(correction), 0)
    if self.dtype.kind == "c":
        squares = np.square(distances.real) + np.square(distances.imag)
    else:
        squares = np.multiply(distances, distances, out=distances)
    total = summed(squares, axes, keepdim)
    return np.divide(total, total.dtype.type(freedom))


@rounded_once()
def _var(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    return _variance(self, dim, correction, keepdim).astype(self.real.dtype, copy=False)


def _var_back(g: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    sizes = tuple(self.shape)
    freedom = count_of(sizes, dim) - _lost(correction)
    g = unsqueezed(g, sizes, dim, keepdim)
    mean = F.mean(self) if dim is None or dim == () else F._mean_dim(self, dim, True)
    if freedom <= 0 and (dim is None or not sizes):
        return g * F.masked_fill(F.ones_like(self) * math.inf, self == mean, math.nan)
    return times(g, float(np.divide(2.0, freedom))) * (self - mean)


@rounded_once()
def _std(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    return np.sqrt(_variance(self, dim, correction, keepdim)).astype(self.real.dtype, copy=False)


def _std_back(g: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _var_back(F.masked_fill(g / times(result, 2), result == 0, 0.0), self, dim, correction, keepdim)


def _var_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    self, dim, correction, keepdim = primal[:4]
    return along(_var_back(F.ones_like(results[0]), self, dim, correction, keepdim), tangents[0], dim, keepdim)


def _std_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    return F.masked_fill(_var_tangent(primal, tangents, results) / (results[0] * 2), results[0] == 0, 0.0)


def _mean_tangent_too(tangent_of_spread: Any) -> Any:
    def rule(primal: Any, tangents: Any, results: Any) -> Any:
        return tangent_of_spread(primal, tangents, results), F._mean_dim(tangents[0], primal[1], primal[3])

    return rule


def _mean_too(spread_of: Any) -> Any:
    def forward(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
        value = spread_of(self, dim, correction, keepdim)
        return value, mean_of(self, dim, keepdim, None)

    return forward


def _mean_share(g: Any, sizes: Any, dim: Any, keepdim: bool) -> Any:
    return over(spread(g, tuple(sizes), dim, keepdim), max(count_of(sizes, dim), 1))


def _with_mean_share(first: Any, g: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient by way of the spread, if there is one, and by way of the mean, if there is one.

    Where one is missing it is not zero: the slope of a spread without freedom is NaN, and ``0 * nan`` would stay.
    """
    if g is None:
        return first
    share = _mean_share(g, self.shape, dim, keepdim)
    return share if first is None else first + share


def _var_mean_back(g: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    first = None if g[0] is None else _var_back(g[0], self, dim, correction, keepdim)
    return _with_mean_share(first, g[1], self, dim, keepdim)


def _std_mean_back(g: Any, self: Any, std: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    first = None if g[0] is None else _std_back(g[0], self, std, dim, correction, keepdim)
    return _with_mean_share(first, g[1], self, dim, keepdim)


function("_var", _var, node="VarBackward0", self=_var_back, layout="rows")
function("_std", _std, node="StdBackward0", self=_std_back, jvp=_std_tangent, layout="rows")
function(
    "_var_mean",
    _mean_too(_var),
    node="VarMeanBackward0",
    outputs=2,
    undefined=True,
    self=_var_mean_back,
    jvp=_mean_tangent_too(_var_tangent),
    layout="rows",
)
function(
    "_std_mean",
    _mean_too(_std),
    node="StdMeanBackward0",
    results="std mean",
    undefined=True,
    self=_std_mean_back,
    jvp=_mean_tangent_too(_std_tangent),
    layout="rows",
)
