"""The error function and its relatives, in double precision.

``erf``, ``erfc`` and ``erfcx``: W. J. Cody, "Rational Chebyshev approximations for the error function",
Mathematics of Computation 23 (1969), 631-637.  Inverses: Newton's and Halley's iteration on these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .halves import in_double, piecewise, polynomial

SQRT_PI = math.sqrt(math.pi)
SQRT2 = math.sqrt(2.0)

# erf(x) = x P(x^2) / Q(x^2) for |x| <= 0.46875
_P1 = (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
       3.20937758913846947e3)  # fmt: skip
_Q1 = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
# erfc(x) = exp(-x^2) P(x) / Q(x) for 0.46875 <= x <= 4
_P2 = (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
       2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
       1.23033935479799725e3)  # fmt: skip
_Q2 = (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
       3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3)  # fmt: skip
# erfc(x) = exp(-x^2) / x (1 / sqrt(pi) - P(1/x^2) / (x^2 Q(1/x^2))) for x >= 4
_P3 = (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
       1.60837851487422766e-2, 6.58749161529837803e-4)  # fmt: skip
_Q3 = (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
       2.33520497626869185e-3)  # fmt: skip
SMALL, LARGE = 0.46875, 4.0


def _erf_small(x: Any) -> Any:
    square = x * x
    return x * polynomial(square, _P1) / polynomial(square, _Q1)


def _scaled_middle(x: Any) -> Any:
    return polynomial(x, _P2) / polynomial(x, _Q2)


def _scaled_large(x: Any) -> Any:
    inverse = 1.0 / (x * x)
    return (1.0 / SQRT_PI - inverse * polynomial(inverse, _P3) / polynomial(inverse, _Q3)) / x


def _gaussian(x: Any) -> Any:
    """``exp(-x^2)`` with the rounding error of the square taken out."""
    near = np.trunc(x * 16) / 16
    return np.exp(-near * near) * np.exp(-(x - near) * (x + near))


def _scaled_tail(x: Any) -> Any:
    """``exp(x^2) erfc(x)`` for ``x >= 0.46875``."""
    return piecewise(x, (x <= LARGE, _scaled_middle), (x > LARGE, _scaled_large))


def _erfc_tail(x: Any) -> Any:
    return np.where(x > 27.3, 0.0, _gaussian(np.minimum(x, 28.0)) * _scaled_tail(x))


# erf(x) = x P(x^2) / Q(x^2) for |x| <= 4 in single precision: the rational function that the Eigen library uses
_P4 = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
       -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_Q4 = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
       -1.42647390514189e-02)  # fmt: skip


def _erf_single(x: Any) -> Any:
    x = np.clip(x, np.float32(-4), np.float32(4))
    square = x * x
    return np.clip(x * polynomial(square, _P4) / polynomial(square, _Q4), np.float32(-1), np.float32(1))


def erf(x: Any) -> Any:
    """The error function ``2 / sqrt(pi) * integral of exp(-t^2) from 0 to x``."""
    return _erf_single(x) if x.dtype == np.float32 else _erf_double(x)


@in_double
def _erf_double(x: Any) -> Any:
    return piecewise(
        x,
        (np.abs(x) <= SMALL, _erf_small),
        (x > 0, lambda v: 1.0 - _erfc_tail(v)),
        (x < 0, lambda v: _erfc_tail(-v) - 1.0),
    )


@in_double
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, accurate where it is small."""
    return piecewise(
        x,
        (np.abs(x) <= SMALL, lambda v: 1.0 - _erf_small(v)),
        (x > 0, _erfc_tail),
        (x < 0, lambda v: 2.0 - _erfc_tail(-v)),
    )


def _inverse_gaussian(x: Any) -> Any:
    """``exp(x^2)`` with the rounding error of the square taken out."""
    near = np.trunc(x * 16) / 16
    return np.exp(near * near) * np.exp((x - near) * (x + near))


@in_double
def erfcx(x: Any) -> Any:
    """``exp(x^2) erfc(x)``."""
    return piecewise(
        x,
        (np.abs(x) <= SMALL, lambda v: np.exp(v * v) * (1.0 - _erf_small(v))),
        (x > 0, _scaled_tail),
        (x < -26.7, lambda v: np.full_like(v, np.inf)),
        (x < 0, lambda v: 2.0 * _inverse_gaussian(v) - _scaled_tail(-v)),
    )


# -- inverses


def _start_of_inverse(y: Any) -> Any:
    """First guess of ``z`` with ``erfc(z) = y``, ``0 < y <= 1``: S. Winitzki's formula with a = 0.147."""
    a = 0.147
    log = np.log(np.maximum(y * (2.0 - y), 1e-320))
    half = 2.0 / (math.pi * a) + log / 2.0
    return np.sqrt(np.maximum(np.sqrt(half * half - log / a) - half, 0.0))


def erfc_inverse(y: Any) -> Any:
    """``z >= 0`` with ``erfc(z) = y`` for ``0 < y <= 1``, by Halley's iteration on the logarithm."""
    z = _start_of_inverse(y)
    for _ in range(4):
        scaled = erfcx(z)
        # f = log erfc(z) - log y;  f' = -2 / (sqrt(pi) erfcx);  f'' = -f' (2 z + f')
        value = np.log(scaled) - z * z - np.log(y)
        slope = -2.0 / (SQRT_PI * scaled)
        step = value / slope
        z = z - step / (1.0 + 0.5 * step * (2.0 * z + slope))
    return z


def _erfinv_middle(x: Any) -> Any:
    z = np.copysign(erfc_inverse(1.0 - np.abs(x)), x)
    for _ in range(2):  # close to 0, 1 - |x| has lost digits; erf itself has them
        z = z - (erf(z) - x) * (SQRT_PI / 2.0) * np.exp(z * z)
    return z


@in_double
def erfinv(x: Any) -> Any:
    """The inverse of ``erf``; infinite at -1 and 1, NaN beyond."""
    size = np.abs(x)
    return piecewise(
        x,
        (size < 0.7, _erfinv_middle),
        (size < 1, lambda v: np.copysign(erfc_inverse(1.0 - np.abs(v)), v)),
        (size == 1, lambda v: np.copysign(np.inf, v)),
    )


# -- the normal distribution


@in_double
def ndtr(x: Any) -> Any:
    """Probability that a standard normal variable is below ``x``."""
    return 0.5 * erfc(-x / SQRT2)


@in_double
def log_ndtr(x: Any) -> Any:
    """Logarithm of ``ndtr``, without underflow."""
    return piecewise(
        x,
        (x < -1, lambda v: np.log(0.5 * erfcx(-v / SQRT2)) - 0.5 * v * v),
        (x >= -1, lambda v: np.log1p(-0.5 * erfc(v / SQRT2))),
    )


@in_double
def ndtri(p: Any) -> Any:
    """The inverse of ``ndtr``."""
    return piecewise(
        p,
        (p == 0, lambda v: np.full_like(v, -np.inf)),
        (p == 1, lambda v: np.full_like(v, np.inf)),
        ((p > 0.15) & (p < 0.85), lambda v: SQRT2 * erfinv(2.0 * v - 1.0)),
        ((p > 0) & (p <= 0.15), lambda v: -SQRT2 * erfc_inverse(2.0 * v)),
        ((p >= 0.85) & (p < 1), lambda v: SQRT2 * erfc_inverse(2.0 * (1.0 - v))),
    )
