"""Vector norms and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype_of, scalar_name, to_numpy_dtype
from ...core.registry import F
from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...table.rows import function
from .reduce import along, axes_of, unsqueezed


def _vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The ``ord``-norm of all elements or along dimensions; of an empty one only where it has an identity."""
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if self.dtype.kind not in "fc":
        kind = scalar_name(self.dtype)
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {kind}")
    if dtype is not None:
        self = self.astype(norm_dtype("linalg.vector_norm", self.dtype, to_numpy_dtype(dtype)))
    axes = axes_of(dim, self.ndim)
    size = np.abs(self)
    if (ord < 0 or math.isinf(ord)) and any(self.shape[a] == 0 for a in axes):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have "
            "an identity"
        )
    return np.asarray(_norm_of(size, ord, axes, keepdim)).astype(size.dtype, copy=False)


def norm_dtype(name: str, have: Any, want: Any) -> Any:
    """The dtype asked for, if it can hold the input's numbers."""
    if want.kind not in "fc":
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {scalar_name(want)}")
    if have.kind != want.kind:
        kind = "complex" if have.kind == "c" else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {scalar_name(want)}")
    if want.itemsize < have.itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_name(have)}) should be convertible without narrowing to the "
            f"specified dtype ({scalar_name(want)})"
        )
    return want


@rounded_once()
def _norm_of(size: Any, ord: Any, axes: tuple[int, ...], keepdim: bool) -> Any:  # noqa: A002
    kind: Any = {"axis": axes, "keepdims": keepdim}
    if ord == 0:
        return np.count_nonzero(size, **kind)
    if math.isinf(ord) or all(size.shape[a] == 1 for a in axes):  # that of one number is its size, however large
        return (np.max if ord > 0 else np.min)(size, **kind)
    if ord == 1:
        return summed(size, axes, keepdim)
    if ord == 2:
        return np.sqrt(summed(size * size, axes, keepdim))
    return np.power(summed(np.power(size, size.dtype.type(ord)), axes, keepdim), size.dtype.type(1 / ord))


def _vector_norm_back(g: Any, self: Any, result: Any, ord: Any, dim: Any, keepdim: bool) -> Any:  # noqa: A002
    """The gradient of a norm, computed in the precision that the norm is computed in."""
    have = numpy_dtype_of(self)
    precise = np.result_type(have, numpy_dtype_of(result))
    return norm_back(g, self if precise == have else F._to_copy(self, precise), result, ord, dim, keepdim)


def norm_back(g: Any, self: Any, result: Any, ord: Any, dim: Any, keepdim: bool) -> Any:  # noqa: A002
    """The gradient of a vector norm; where the norm is 0, so is the gradient (the smallest subgradient).

    It is filled in after the division, so that second derivatives are NaN there, as they should be: there is none.
    """
    sizes = tuple(self.shape)
    g, result = unsqueezed(g, sizes, dim, keepdim), unsqueezed(result, sizes, dim, keepdim)
    if ord == 0:
        return None
    if ord == 1:
        return F.sgn(self) * g
    if math.isinf(ord):
        size = F.abs(self)
        hit = F.logical_or(size == result, F.isnan(self))
        return F.sgn(self) * (g / F._sum_dim(hit, dim, True) * hit)
    if ord == 2:
        return g * F._kept(self / result, result == 0, False)
    return _power_norm_back(g, self, result, float(ord))


def _power_norm_back(g: Any, self: Any, result: Any, p: float) -> Any:
    if p < 1:
        scaled = F._kept(F.sgn(self) * F._pow_scalar(F.abs(self), p - 1), self == 0, False)
        return scaled * g * F._pow_scalar(result, 1 - p)
    if p < 2:
        scaled = F.sgn(self) * F._pow_scalar(F.abs(self), p - 1)
    else:
        scaled = self * F._pow_scalar(F.abs(self), p - 2)
    return scaled * F.masked_fill(g / F._pow_scalar(result, p - 1), result == 0, 0.0)


def _norm_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    """The slope of the norm, times the tangent; 0 where the norm is 0."""
    self, p, dim, keepdim = primal[:4]
    if p == 0:
        return F.zeros_like(results[0])
    return along(norm_back(F.ones_like(results[0]), self, results[0], p, dim, keepdim), tangents[0], dim, keepdim)


function(
    "_vector_norm",
    _vector_norm,
    node="LinalgVectorNormBackward0",
    self=_vector_norm_back,
    jvp=_norm_tangent,
    layout="rows",
)


def _dist(self: Any, other: Any, p: Any = 2) -> Any:
    """The ``p``-norm of ``input - other``."""
    return _vector_norm(self - other, p)


def _dist_self(g: Any, self: Any, other: Any, result: Any, p: Any) -> Any:
    if p == 0:  # how many elements differ
        return F.zeros_like(self)
    return F.sum_to_size(norm_back(g, self - other, result, p, None, False), tuple(self.shape))


def _dist_other(g: Any, self: Any, other: Any, result: Any, p: Any) -> Any:
    return _dist_self(g, other, self, result, p)


function("dist", _dist, promote="float", self=_dist_self, other=_dist_other, kinds="fc")


# -- directions with lengths of their own


def _weight_norm(v: Any, magnitude: Any, dim: int) -> tuple[Any, Any]:
    """``v`` with the norms ``magnitude`` over all dimensions but ``dim``, and the norms that it had."""
    others = tuple(a for a in range(v.ndim) if a != dim)
    norms = np.sqrt(summed(v * v, others, True))
    return v * (magnitude / norms), norms


def _weight_norm_grads(g: Any, needs: Any, v: Any, magnitude: Any, dim: int, norms: Any) -> Any:
    others = tuple(a for a in range(len(v.shape)) if a != dim)
    if not isinstance(g, np.ndarray):
        norms = F._vector_norm(v, 2, others, True)  # it takes part in second derivatives
    along = F._sum_dim(g * v, others, True) if others else g * v
    through = along / norms
    into_v = (g - v * (through / norms)) * (magnitude / norms) if needs[0] else None
    return into_v, through if needs[1] else None


function(
    "_weight_norm_interface", _weight_norm, node="WeightNormInterfaceBackward0", tensors="v magnitude",
    joint=_weight_norm_grads, aux=("norms",), public=False, layout="rows",
)  # fmt: skip


# -- sub-tensors of bounded norm


def _renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Each entry of ``dim`` scaled down to a ``p``-norm of at most ``maxnorm``."""
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axis = axes_of(dim, self.ndim)[0]
    others = tuple(a for a in range(self.ndim) if a != axis)
    norm = _vector_norm(self, p, others, True)
    return self * np.where(norm > maxnorm, maxnorm / (norm + norm.dtype.type(1e-7)), norm.dtype.type(1))


def _renorm_back(g: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    axis = axes_of(dim, len(self.shape))[0]
    others = tuple(a for a in range(len(self.shape)) if a != axis)
    norm = F._vector_norm(self, p, others, True)
    dots = F._sum_dim(F.conj(self) * g, others, True)
    dots = F.real(dots) if _is_complex(dots) else dots
    inverse = 1.0 / (norm + 1e-7)
    through_norm = norm_back(dots, self, norm, p, others, True)
    scaled = (g - through_norm * inverse) * (inverse * maxnorm)
    return F._where(norm > maxnorm, scaled, g)


def _is_complex(x: Any) -> bool:
    dtype = x.dtype
    return bool(getattr(dtype, "is_complex", getattr(dtype, "kind", "") == "c"))


function("renorm", _renorm, inplace=True, self=_renorm_back, layout="rows")
