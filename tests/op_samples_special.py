"""Samples of special functions."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Sample, binary, calls, ints, real, unary

EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 30.0, -30.0, np.inf, -np.inf, np.nan])
TAILS = real(12, lo=-25.0, hi=25.0)
BESSEL = "special.bessel_j0 special.bessel_j1"
SECOND_KIND = "special.bessel_y0 special.bessel_y1"
MODIFIED = "special.modified_bessel_i0 special.modified_bessel_i1 special.spherical_bessel_j0"
MODIFIED_K = (
    "special.modified_bessel_k0 special.modified_bessel_k1 special.scaled_modified_bessel_k0 "
    "special.scaled_modified_bessel_k1"
)
POLYNOMIALS = (
    "special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
    "special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he "
    "special.laguerre_polynomial_l special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t "
    "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
    "special.shifted_chebyshev_polynomial_w"
)
FLAT = {"grad": False}

SAMPLES: list[Sample] = [
    *unary("erf erfc special.erfcx special.log_ndtr special.erf special.erfc i0 special.i0e special.i1 special.i1e "
           "special.i0 special.expit special.exp2 special.expm1 special.sinc", lo=-3.0, hi=3.0),
    *unary("special.ndtr", node=False),
    *unary("erfinv special.erfinv", lo=-0.98, hi=0.98),
    *unary("special.ndtri special.logit", lo=0.02, hi=0.98),
    # torch's trigamma, the derivative of digamma, is right to nine digits only
    *unary("lgamma special.gammaln digamma special.psi special.digamma", lo=0.1, hi=12.0, rtol=2e-9),
    *unary("special.entr special.log1p", lo=0.1, hi=3.0),
    *calls("erf erfc i0 special.i0e special.i1 special.i1e special.erfcx special.log_ndtr", [TAILS], note="tails"),
    *calls("special.ndtr", [real(9, lo=-5, hi=9)], note="tails", node=False),
    *calls("lgamma digamma", [real(9, lo=-6.0, hi=0.0, start=2)], note="negative", rtol=1e-8),
    *calls("lgamma digamma", [np.array([1.0, 2.0, 1e-8, 1e5, 1 + 1e-7, 50.0])], note="wide", rtol=1e-8, second=False),
    *calls("erf erfc special.log_ndtr lgamma digamma special.ndtr special.erfcx erfinv special.ndtri special.entr "
           "special.logit special.sinc", [EDGES], note="edges", **FLAT),
    *calls("i0 special.i0e special.i1 special.i1e", [EDGES[:6]], note="edges", second=False),
    *calls("erf erfc erfinv lgamma digamma i0 special.ndtr special.entr special.i1e special.log_ndtr special.erfcx",
           [ints(2, 3, lo=0, hi=4)], note="integers"),
    *calls("polygamma special.polygamma", [2, real(2, 3, lo=0.3, hi=6)], [3, real(lo=0.3, hi=4)],
           [4, real(2, 0)], rtol=1e-8, variants=False),
    *calls("polygamma", [0, real(3, lo=0.3, hi=6)], [1, real(3, lo=0.3, hi=6)], note="low", rtol=3e-9, variants=False),
    *calls("mvlgamma special.multigammaln", [real(2, 3, lo=2.0, hi=9.0), 3], [real(3, lo=1, hi=3), 1], rtol=1e-8),
    *calls("special.zeta", [Const(real(2, 3, lo=1.2, hi=5)), real(3, lo=0.3, hi=5)], [2.5, real(2, 3, lo=0.3, hi=5)],
           [Const(real(3, lo=1.5, hi=5)), 2.0], [3, real(lo=1, hi=2)], variants=False),
    *calls("igamma igammac special.gammainc special.gammaincc",
           [Const(real(2, 3, lo=0.3, hi=8)), real(3, lo=0.2, hi=9)], [Const(real(4, lo=0.3, hi=19)),
           real(4, lo=10, hi=30)], variants=False),
    *calls("igamma igammac", [Const(np.array([0.0, 1.0, 0.0, -1.0, 2.0])), Const(np.array([1.0, 0.0, 0.0, 1.0, -1.0]))],
           variants=False),
    *binary("special.xlogy", lo=-2.0, hi=2.0, lo2=0.2, hi2=3.0),
    # torch's own are right to six digits only; test_kernels_special.py holds ours against mpmath
    *calls(BESSEL, [real(2, 4, lo=-4.9, hi=4.9)], [np.array([0.0, 1e-3, 2.0, -2.0])], [np.zeros((0, 2))], rtol=1e-5, atol=1e-6, **FLAT),
    *calls(SECOND_KIND, [real(2, 4, lo=0.1, hi=4.9)], [np.array([0.0, -1.0])], rtol=1e-5, atol=1e-6, **FLAT),
    *calls(MODIFIED, [real(2, 4, lo=-9, hi=9)], [real(6, lo=-3, hi=3)], [np.array([0.0, 40.0])], **FLAT),
    *calls(MODIFIED_K, [real(2, 4, lo=0.1, hi=40)], [np.array([0.0, -1.0, 1.0])], **FLAT),
    *calls("special.airy_ai", [real(2, 4, lo=-2, hi=9)], [np.zeros((0,))], **FLAT),
    *calls(POLYNOMIALS, [Const(real(3, 4)), 4], [Const(real(2, 3)), ints(3, lo=0, hi=6)], [Const(real(3)), 0],
           [0.3, ints(4, lo=0, hi=5)], variants=False, **FLAT),
]  # fmt: skip
