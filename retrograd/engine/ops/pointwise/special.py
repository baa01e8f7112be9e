"""Special functions: error functions, the gamma family, Bessel functions, orthogonal polynomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels import bessel, error_function, gamma, polynomials
from ...rules.by_number import minus, plus, squared, times
from ...table.rows import elementwise, nondifferentiable

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2.0 * math.pi)


def _nonzero(x: Any) -> Any:
    return F._where(x == 0, F.ones_like(x), x)


def _row(
    name: str, kernel: Any, slope: Any, *, node: str | None = None, doc: str = "", kinds: str = "fiub", **facts: Any
) -> None:
    """A row of one real argument from a kernel."""

    def forward(self: Any) -> Any:
        return kernel(self)

    forward.__doc__ = doc or kernel.__doc__
    elementwise(name, forward, node=node, promote="float", self=slope, kinds=kinds, **facts)


# -- error functions

_row("erf", error_function.erf, lambda g, self: times(F.exp(-squared(self)), TWO_OVER_SQRT_PI) * g, inplace=True)
_row("erfc", error_function.erfc, lambda g, self: times(F.exp(-squared(self)), -TWO_OVER_SQRT_PI) * g, inplace=True)
_row("erfinv", error_function.erfinv,
     lambda g, self: times(F.exp(squared(F.erfinv(self))), 0.5 * math.sqrt(math.pi)) * g,
     inplace=True)  # fmt: skip
_row("erfcx", error_function.erfcx, lambda g, self, result: minus(times(self, 2.0) * result, TWO_OVER_SQRT_PI) * g,
     node="SpecialErfcxBackward0", public=False, kinds="wiub")  # fmt: skip
_row("ndtr", error_function.ndtr, lambda g, self: F.exp(self * self * -0.5) * g / SQRT_2PI,
     node="SpecialNdtrBackward0", public=False)  # fmt: skip
_row("ndtri", error_function.ndtri, lambda g, result: g * SQRT_2PI * F.exp(result * result * 0.5),
     node="SpecialNdtriBackward0", public=False, kinds="wiub")  # fmt: skip
_row("log_ndtr", error_function.log_ndtr,
     lambda g, self: g / F.erfcx(self * -math.sqrt(0.5)) * math.sqrt(2.0 / math.pi),
     node="SpecialLogNdtrBackward0", public=False, keeps="result", kinds="wiub")  # fmt: skip

# -- the gamma family

_row("lgamma", gamma.lgamma, lambda g, self: g * F.digamma(self), inplace=True)
_row("digamma", gamma.digamma, lambda g, self: g * F._polygamma(self, 1), inplace=True)
elementwise(
    "_polygamma", lambda self, n: gamma.polygamma(n, self), node="PolygammaBackward0", tensors="self", promote="float",
    self=lambda g, self, n: g * F._polygamma(self, n + 1),
)  # fmt: skip


def _mvlgamma(self: Any, p: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension ``p``, for elements above ``(p - 1) / 2``."""
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but is {p}")
    total = p * (p - 1) / 4 * math.log(math.pi)
    return sum(gamma.lgamma(self - self.dtype.type(i / 2)) for i in range(p)) + self.dtype.type(total)


def _mvlgamma_slope(g: Any, self: Any, p: int) -> Any:
    total = F.digamma(self)
    for i in range(1, p):
        total = total + F.digamma(minus(self, i / 2))
    return g * total


elementwise("mvlgamma", _mvlgamma, tensors="self", promote="float", self=_mvlgamma_slope, inplace=True, kinds="fiu")


def _underived(name: str) -> Any:
    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for 'self' of '{name}' is not implemented; only 'other' has one")

    return rule


def _incomplete_slope(g: Any, self: Any, other: Any) -> Any:
    return g * F.exp(minus(self, 1.0) * F.log(other) - other - F.lgamma(self))


elementwise("igamma", lambda self, other: gamma.igamma(self, other), inplace=True, numbers=False,
            self=_underived("igamma"), other=_incomplete_slope, kinds="f")  # fmt: skip
elementwise("igammac", lambda self, other: gamma.igammac(self, other), inplace=True, numbers=False,
            self=_underived("igammac"), other=lambda g, self, other: -_incomplete_slope(g, self, other),
            kinds="f")  # fmt: skip


def _zeta_slope(g: Any, self: Any, other: Any) -> Any:
    return g * -self * F._zeta(plus(self, 1.0), other)


elementwise("_zeta", lambda self, other: gamma.zeta(self, other), node="SpecialZetaBackward0", promote="float",
            self=_underived("zeta"), other=_zeta_slope, kinds="wiub")  # fmt: skip
elementwise(
    "_zeta_self_number", lambda self, other: gamma.zeta(other.dtype.type(self), other), node="SpecialZetaBackward1",
    tensors="other", promote="float", other=lambda g, self, other: g * -self * F._zeta_self_number(self + 1.0, other),
    kinds="wiub",
)  # fmt: skip
elementwise(
    "_zeta_other_number", lambda self, other: gamma.zeta(self, self.dtype.type(other)), node="SpecialZetaBackward2",
    tensors="self", promote="float", self=_underived("zeta"), kinds="wiub",
)  # fmt: skip


def _entropy(self: Any) -> Any:
    """``-x log x``, 0 at 0, minus infinity below."""
    inner = -self * np.log(np.where(self > 0, self, 1))
    return np.where(np.isnan(self), self, np.where(self > 0, inner, np.where(self == 0, 0, -np.inf))).astype(self.dtype)


elementwise("entr", _entropy, node="SpecialEntrBackward0", promote="float", public=False,
            self=lambda g, self: g * -plus(F.log(self), 1), kinds="fiub")  # fmt: skip

# -- Bessel functions; PyTorch has derivatives of four of them


def _of_one(kernel: Any) -> Any:
    return lambda self: kernel(self)


def _slopes(x: Any) -> Any:
    """Where slopes are computed; at 0, and in PyTorch also at NaN, they are 0.5 instead."""
    return (x < 0) | (x > 0)


def _i1_slope(g: Any, self: Any, result: Any) -> Any:
    return g * F._where(_slopes(self), F.i0(self) - result / _nonzero(self), 0.5 * F.ones_like(self))


def _i1e_slope(g: Any, self: Any, result: Any) -> Any:
    inner = F.i0e(self) - result * (F.sgn(self) + 1.0 / _nonzero(self))
    return g * F._where(_slopes(self), inner, 0.5 * F.ones_like(self))


_row("i0", bessel.i0, lambda g, self: g * F.i1(self), inplace=True)
_row("i0e", bessel.i0e, lambda g, self, result: g * (F.i1e(self) - F.sgn(self) * result),
     node="SpecialI0EBackward0", public=False)  # fmt: skip
_row("i1", bessel.i1, _i1_slope, node="SpecialI1Backward0", public=False)
_row("i1e", bessel.i1e, _i1e_slope, node="SpecialI1EBackward0", public=False)
for _name, _kernel in {
    "bessel_j0": bessel.j0, "bessel_j1": bessel.j1, "bessel_y0": bessel.y0, "bessel_y1": bessel.y1,
    "modified_bessel_i0": bessel.i0, "modified_bessel_i1": bessel.i1, "modified_bessel_k0": bessel.k0,
    "modified_bessel_k1": bessel.k1, "scaled_modified_bessel_k0": bessel.k0e, "scaled_modified_bessel_k1": bessel.k1e,
    "spherical_bessel_j0": bessel.spherical_j0, "airy_ai": bessel.airy_ai,
}.items():  # fmt: skip
    nondifferentiable(_name, _of_one(_kernel), promote="float", public=False, kinds="wiub")

# -- orthogonal polynomials


def _polynomial(name: str, kernel: Any) -> None:
    def forward(input: Any, n: Any) -> Any:  # noqa: A002
        floating = np.result_type(input, n)
        return kernel(np.asarray(input), np.asarray(n)).astype(floating if floating.kind == "f" else np.float32)

    nondifferentiable(name, forward, tensors="input n", promote="float", public=False, kinds="wiub")


for _name, _kernel in {
    "chebyshev_polynomial_t": polynomials.chebyshev_t, "chebyshev_polynomial_u": polynomials.chebyshev_u,
    "chebyshev_polynomial_v": polynomials.chebyshev_v, "chebyshev_polynomial_w": polynomials.chebyshev_w,
    "shifted_chebyshev_polynomial_t": polynomials.shifted(polynomials.chebyshev_t),
    "shifted_chebyshev_polynomial_u": polynomials.shifted(polynomials.chebyshev_u),
    "shifted_chebyshev_polynomial_v": polynomials.shifted(polynomials.chebyshev_v),
    "shifted_chebyshev_polynomial_w": polynomials.shifted(polynomials.chebyshev_w),
    "hermite_polynomial_h": polynomials.hermite_h, "hermite_polynomial_he": polynomials.hermite_he,
    "laguerre_polynomial_l": polynomials.laguerre, "legendre_polynomial_p": polynomials.legendre,
}.items():  # fmt: skip
    _polynomial(_name, _kernel)
