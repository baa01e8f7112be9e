"""Running sums, products and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...table.registry import F
from ...table.rows import function, linear
from ...tensors.dtype_names import scalar_name
from ...tensors.dtypes import numpy_dtype_of
from ..pointwise.arithmetic import conj, raw
from .element_products import accumulation_dtype, all_nonzero
from .reduce import axes_of, refuse_complex

_WIDER = {"e": np.dtype("f4"), "f": np.dtype("f8"), "F": np.dtype("c16")}
"""The dtype in which running sums and products are kept, as PyTorch keeps them: no pairs make them exact."""


def _accumulated(name: str, accumulate: Any) -> Any:
    def forward(self: Any, dim: int, dtype: Any = None) -> Any:
        """The running sum or product along ``dim``."""
        axes = axes_of(dim, self.ndim)
        kind = accumulation_dtype(self, dtype)
        if kind.kind == "b":
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
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
        top = values.dtype.type(parts.max())
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
