"""Sums, cumulative sums and products, histograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.absent import AbsentMemory
from ...core.dtypes import numpy_dtype_of, scalar_name, to_numpy_dtype
from ...core.registry import F
from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...table.rows import function, linear, nondifferentiable, underivable
from ..pointwise.arithmetic import conj, raw
from ..pointwise.parts import is_complex
from .reduce import axes_of, held_by, refuse_complex, spread, unsqueezed

# Products of elements, along a dimension or of all.


def all_nonzero(x: Any) -> bool:
    """Whether a tensor or array surely has no zero; of one without data nobody can know."""
    return getattr(x, "_array", x).__class__ is not AbsentMemory and bool(raw(x).all())


def accumulation_dtype(self: Any, dtype: Any) -> Any:
    """The dtype that sums and products are computed in: ``int64`` for integers, unless another one is asked for."""
    if dtype is not None:
        return to_numpy_dtype(dtype)
    return np.dtype(np.int64) if self.dtype.kind in "biu" else self.dtype


def _prod(self: Any, dtype: Any = None) -> Any:
    kind = accumulation_dtype(self, dtype)
    return np.multiply.reduce(held_by(self, kind), axis=None, dtype=kind)


def _prod_dim(self: Any, dim: int, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = axes_of(dim, self.ndim)
    multiply: Any = np.multiply
    kind = accumulation_dtype(self, dtype)
    return multiply.reduce(held_by(self, kind), axis=axes, dtype=kind, keepdims=keepdim)


def product_of_others(self: Any, dim: int) -> Any:
    """For each element along ``dim`` the product of all others; right for zeros, too."""
    n = self.shape[dim]
    one = F.ones_like(F._slice(self, dim, 0, min(n, 1)))
    before = F.cat([one, F.cumprod(F._slice(self, dim, 0, n - 1), dim)], dim)
    after = F.cat([one, F.cumprod(F.flip(F._slice(self, dim, 1, n), (dim,)), dim)], dim)
    return before * F.flip(after, (dim,))


def _factors(self: Any, result: Any) -> Any:
    """What was multiplied: of complex elements only the real parts, and in the dtype asked for."""
    self = self.real if is_complex(self) and not is_complex(result) else self
    have = numpy_dtype_of(result)
    return self if have.kind != "f" or numpy_dtype_of(self) == have else F._to_copy(self, have)


def _prod_back(g: Any, self: Any, result: Any) -> Any:
    self, shape = _factors(self, result), tuple(self.shape)
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
    self, shape = _factors(self, result), tuple(self.shape)
    if not shape:
        return g
    axis = axes_of(dim, len(shape))[0]
    g, result = (unsqueezed(v, shape, axis, keepdim) for v in (g, result))
    if 0 in shape:
        return F.zeros_like(self)
    if all_nonzero(self):
        return g * conj(result / self)
    return g * conj(product_of_others(self, axis))


function("_prod", _prod, node="ProdBackward0", self=_prod_back)
function("_prod_dim", _prod_dim, node="ProdBackward1", self=_prod_dim_back, layout="rows")


# Running sums, products and extremes.

_WIDER = {"e": np.dtype("f4"), "f": np.dtype("f8"), "F": np.dtype("c16")}
"""The dtype in which running sums and products are kept, as PyTorch keeps them: no pairs make them exact."""


def _accumulated(name: str, accumulate: Any) -> Any:
    def forward(self: Any, dim: int, dtype: Any = None) -> Any:
        """The running sum or product along ``dim``."""
        axes = axes_of(dim, self.ndim)
        kind = accumulation_dtype(self, dtype)
        if kind.kind == "b":
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        self = held_by(self, kind)
        if not self.ndim:
            return np.array(self, dtype=kind)
        if kind.char == "e":
            self = self.astype(kind, copy=False)  # what is multiplied is rounded, too
        return accumulate(self, axis=axes[0], dtype=_WIDER.get(kind.char, kind)).astype(kind, copy=False)

    return forward


def reversed_cumsum(g: Any, dim: int) -> Any:
    """Sums from each element to the end."""
    return F.flip(F.cumsum(F.flip(g, (dim,)), dim), (dim,)) if len(g.shape) else g


linear(
    "cumsum",
    _accumulated("cumsum", np.add.accumulate),
    inplace=True,
    self=lambda g, dim: reversed_cumsum(g, dim),
    layout="rows",
)


def _cumprod_back(g: Any, self: Any, result: Any, dim: int) -> Any:
    if not self.ndim or 0 in self.shape:
        return g
    axis = axes_of(dim, self.ndim)[0]
    have = numpy_dtype_of(self)
    if have.kind == "f" and numpy_dtype_of(g) != have:
        g = F._to_copy(g, have)  # results may be narrower than what was multiplied
    if all_nonzero(self):
        return reversed_cumsum(conj(result) * g, axis) / conj(self)
    if isinstance(g, np.ndarray):
        return _cumprod_back_to_zeros(g, self, result, axis)
    return _cumprod_back_with_zeros(g, self, result, axis)


def _cumprod_back_to_zeros(g: Any, self: Any, result: Any, axis: int) -> Any:
    """Arrays' shares, as PyTorch finds them: by division before the first zero, nothing after it."""
    zeros = np.cumsum(self == 0, axis)
    ahead, reached = zeros == 0, zeros == 1
    first = reached & (self == 0)
    shares = reversed_cumsum(np.where(ahead, result.conj() * g, 0).astype(g.dtype), axis) / self.conj()
    # the first zero counts in what follows it, up to the next one
    after = np.multiply.accumulate(np.where(reached & ~first, self, 1), axis=axis)
    at_zero = summed(np.where(reached, g * after.conj(), g.dtype.type(0)), (axis,), True)
    before = np.take(result, np.arange(-1, self.shape[axis] - 1), axis).conj()
    start = np.arange(self.shape[axis]).reshape((-1,) + (1,) * (self.ndim - 1 - axis)) == 0
    return np.where(ahead, shares, np.where(first, np.where(start, 1, before) * at_zero, 0)).astype(g.dtype)


def _cumprod_back_with_zeros(g: Any, self: Any, result: Any, axis: int) -> Any:
    """Each element's share without dividing by it, which also holds where elements are zero (quadratic)."""
    n = self.shape[axis]
    pieces = []
    for k in range(n):
        before = F._slice(result, axis, k - 1, k) if k else F.ones_like(F._slice(self, axis, 0, 1))
        after = F.cumprod(F._slice(self, axis, k + 1, n), axis)
        omitted = F.cat([before, before * after], axis)
        pieces.append(F._sum_dim(F._slice(g, axis, k, n) * conj(omitted), axis, True))
    return F.cat(pieces, axis)


function("cumprod", _accumulated("cumprod", np.multiply.accumulate), inplace=True, self=_cumprod_back, layout="rows")


# -- extremes so far


def _running(compare: Any) -> Any:
    """The forward of ``cummax`` or ``cummin``: the extremes so far, and where each was last reached."""

    def forward(self: Any, dim: int) -> Any:
        refuse_complex("cummax or cummin", self)
        if not self.ndim:
            axes_of(dim, 0)
            return self.copy(), np.zeros((), np.int64)
        axis = axes_of(dim, self.ndim)[0]
        values = compare.accumulate(self, axis=axis)
        places = np.arange(self.shape[axis]).reshape((-1,) + (1,) * (self.ndim - 1 - axis))
        reached = (self == values) | ((self != self) if self.dtype.kind == "f" else False)
        return values, np.maximum.accumulate(np.where(reached, places, 0), axis=axis)

    return forward


def _running_back(g: Any, self: Any, indices: Any, dim: int) -> Any:
    return F._gather_backward(g[0], tuple(self.shape), dim, indices)


def _running_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    return F.gather(tangents[0], primal[1], results[1]), None


for _name, _compare in (("cummax", np.maximum), ("cummin", np.minimum)):
    function(f"_{_name}", _running(_compare), node=f"{_name.capitalize()}Backward0", results="values indices",
             layout="rows", nondiff=(1,), self=_running_back, jvp=_running_tangent)  # fmt: skip


# -- logarithms of sums of exponentials so far


@rounded_once()
def _logcumsumexp(self: Any, dim: int) -> Any:
    """Logarithm of the running sum of exponentials."""
    axes = axes_of(dim, self.ndim)
    if self.dtype.kind not in "fc":
        raise NotImplementedError(f"\"logcumsumexp\" not implemented for '{scalar_name(self.dtype)}'")
    if not self.ndim:
        return self.copy()
    if self.dtype.kind == "c":
        return _complex_logcumsumexp(self, axes[0])
    return np.logaddexp.accumulate(self, axis=axes[0], dtype=np.float64).astype(self.dtype, copy=False)


def _complex_logcumsumexp(self: Any, axis: int) -> Any:
    lines = np.moveaxis(self, axis, 0)
    out = np.array(lines)
    for i in range(1, len(lines)):
        last, new = out[i - 1], lines[i]
        larger = last.real >= new.real
        top, low = np.where(larger, last, new), np.where(larger, new, last)
        out[i] = top + np.log(1 + np.exp(low - top))
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


_WIDEST = {"f2": 8.0, "f4": 70.0, "f8": 600.0, "c8": 70.0, "c16": 600.0}
"""How far results may lie apart before exponentials of their differences overflow."""


def _logcumsumexp_back(g: Any, self: Any, result: Any, dim: int) -> Any:
    values = raw(result)
    if not values.ndim or not values.size:
        return g
    axis = axes_of(dim, values.ndim)[0]
    parts = values.real
    finite = parts[np.isfinite(parts)]
    if finite.size == parts.size and np.ptp(finite) < _WIDEST.get(values.dtype.str[1:], 8.0):
        top = float(parts.max())
        return reversed_cumsum(g * conj(F.exp(top - result)), axis) * conj(F.exp(self - top))
    return _shares(g, self, result, axis)


def _shares(g: Any, self: Any, result: Any, axis: int) -> Any:
    """The same by all pairs of elements, which never overflows (quadratic)."""
    n = self.shape[axis]
    pieces = []
    for k in range(n):
        later = F._slice(result, axis, k, n)
        later = F.masked_fill(later, later == -np.inf, 0.0)
        weight = conj(F.exp(F._slice(self, axis, k, k + 1) - later))
        pieces.append(F._sum_dim(F._slice(g, axis, k, n) * weight, axis, True))
    return F.cat(pieces, axis)


function("logcumsumexp", _logcumsumexp, self=_logcumsumexp_back, layout="rows")


# `logsumexp`, `nansum` and `count_nonzero`.


@rounded_once()
def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """``log(sum(exp(input)))`` without overflow."""
    axes = axes_of(dim, self.ndim)
    if not self.size:
        return np.log(summed(np.exp(self), axes, keepdim))
    largest: Any = np.max(self.real, axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, largest.dtype.type(0))
    total = np.log(summed(np.exp(self - largest), axes, True)) + largest
    return total if keepdim else np.asarray(np.squeeze(total, axes))


def _logsumexp_back(g: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    sizes = tuple(self.shape)
    return unsqueezed(g, sizes, dim, keepdim) * conj(F.exp(self - unsqueezed(result, sizes, dim, keepdim)))


function("logsumexp", _logsumexp, promote="float", self=_logsumexp_back, layout="rows")


def _nansum(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if self.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    clean = np.where(np.isnan(self), self.dtype.type(0), self) if self.dtype.kind in "fc" else self
    return summed(clean, axes_of(dim, self.ndim), keepdim, accumulation_dtype(self, dtype))


linear(
    "_nansum", _nansum, node="NansumBackward0", layout="rows",
    self=lambda g, self, dim, keepdim: spread(g, tuple(self.shape), dim, keepdim) * F.logical_not(F.isnan(self)),
    jvp=lambda primal, tangents, results: F._sum_dim(
        F.masked_fill(tangents[0], F.isnan(primal[0]), 0.0), *primal[1:4]
    ),
)  # fmt: skip


def _count_nonzero(self: Any, dim: Any = None) -> Any:
    return np.asarray(np.count_nonzero(self, axis=axes_of(dim, self.ndim)), np.int64)


nondifferentiable("_count_nonzero", _count_nonzero, layout="rows")


# Histograms: the number of elements in each bin.


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
    return np.bincount(self, weights.astype(np.float64), minlength).astype(
        np.float32 if weights.dtype == np.float32 else np.float64
    )


underivable("_weighted_bincount", _weighted_bincount, tensors="self weights", aten="bincount", as_given=True)


def _histogramdd(self: Any, edges: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights, or densities) of points in a grid."""
    weights = None if weight is None else weight.reshape(-1)
    points = self.reshape(-1, self.shape[-1])
    return np.histogramdd(points, edges, weights=weights, density=density)[0].astype(self.dtype)


for _how in ("bin_cts", "bin_tensors"):
    underivable(f"_histogramdd_from_{_how}", _histogramdd, tensors="self weight", aten=f"_histogramdd_from_{_how}")
underivable("_histogramdd_bin_edges", lambda self, weight, edges: edges, tensors="self weight", outputs="many",
            aten="_histogramdd_bin_edges")  # fmt: skip
