"""Variances and standard deviations, with the mean or without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...rules.by_number import over, times
from ...table.registry import F
from ...table.rows import function
from .reduce import along, axes_of, count_of, mean_of, spread, unsqueezed


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
    return np.divide(total, total.dtype.type(freedom)).astype(self.real.dtype, copy=False)


_var = rounded_once()(_variance)


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
    return np.sqrt(_variance(self, dim, correction, keepdim))


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
