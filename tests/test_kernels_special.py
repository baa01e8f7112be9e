"""Special functions against arbitrary-precision arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrograd.engine.kernels import bessel, error_function, gamma

mpmath = pytest.importorskip("mpmath")

WIDE = np.linspace(-20.0, 20.0, 41) + 0.013
RIGHT = np.linspace(0.07, 60.0, 41)
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "erf": (error_function.erf, mpmath.erf, WIDE / 4),
    "erfc": (error_function.erfc, mpmath.erfc, WIDE),
    "erfcx": (error_function.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), WIDE),
    "ndtr": (error_function.ndtr, mpmath.ncdf, WIDE),
    "log_ndtr": (error_function.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), WIDE),
    "erfinv": (error_function.erfinv, mpmath.erfinv, np.linspace(-0.999, 0.999, 40)),
    "lgamma": (gamma.lgamma, lambda x: mpmath.log(abs(mpmath.gamma(x))), WIDE),
    "digamma": (gamma.digamma, mpmath.digamma, WIDE),
    "trigamma": (lambda x: gamma.polygamma(1, x), lambda x: mpmath.polygamma(1, x), RIGHT),
    "tetragamma": (lambda x: gamma.polygamma(2, x), lambda x: mpmath.polygamma(2, x), RIGHT),
    "igamma": (lambda x: gamma.igamma(x, 0.8 * x + 1), lambda x: mpmath.gammainc(x, 0, 0.8 * x + 1, True), RIGHT),
    "igammac": (lambda x: gamma.igammac(x, 1.3 * x), lambda x: mpmath.gammainc(x, 1.3 * x, regularized=True), RIGHT),
    "j0": (bessel.j0, lambda x: mpmath.besselj(0, x), WIDE * 3),
    "j1": (bessel.j1, lambda x: mpmath.besselj(1, x), WIDE * 3),
    "y0": (bessel.y0, lambda x: mpmath.bessely(0, x), RIGHT),
    "y1": (bessel.y1, lambda x: mpmath.bessely(1, x), RIGHT),
    "i0e": (bessel.i0e, lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), WIDE * 3),
    "i1e": (bessel.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), WIDE * 3),
    "k0": (bessel.k0, lambda x: mpmath.besselk(0, x), RIGHT),
    "k1": (bessel.k1, lambda x: mpmath.besselk(1, x), RIGHT),
    "airy_ai": (bessel.airy_ai, mpmath.airyai, WIDE / 2),
}


@pytest.mark.parametrize("name", CASES)
def test_twelve_digits(name: str) -> None:
    """A kernel is right to twelve digits (or to 1e-15 where it passes through zero)."""
    ours, exact, points = CASES[name]
    with mpmath.workdps(30):
        wanted = np.array([float(exact(mpmath.mpf(float(x)))) for x in points])

    np.testing.assert_allclose(ours(points), wanted, rtol=1e-12, atol=1e-15)
