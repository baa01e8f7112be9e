"""The gamma function's family: its logarithm, derivatives, Hurwitz' zeta, the incomplete integrals.

Series and asymptotic expansions after the NIST Digital Library of Mathematical Functions (DLMF), chapters 5, 8, 25.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .halves import in_double, piecewise, polynomial

EULER = 0.5772156649015328606
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
             854513 / 138, -236364091 / 2730)  # fmt: skip
"""``B_2, B_4, …``"""


def _zeta_less_one(k: int) -> float:
    """``zeta(k) - 1`` by Euler-Maclaurin summation from 12 on (DLMF 25.2.9)."""
    n = 12
    total: float = math.fsum(j**-k for j in range(2, n)) + n ** (1 - k) / (k - 1) + 0.5 * n**-k
    term = k * n ** (-k - 1)
    for i, b in enumerate(BERNOULLI[:6]):
        total += b / math.factorial(2 * i + 2) * term
        term *= (k + 2 * i + 1) * (k + 2 * i + 2) / n**2
    return float(total)


_TERMS = 34
_AT_TWO = tuple((-1) ** k * _zeta_less_one(k) / k for k in range(_TERMS, 1, -1)) + (1.0 - EULER, 0.0)
"""Taylor coefficients of ``log Gamma(2 + z)`` (DLMF 5.7.3), highest power first."""
_STIRLING = tuple(b / (2 * i * (2 * i - 1)) for i, b in reversed(list(enumerate(BERNOULLI[:9], 1))))
_DIGAMMA = tuple(b / (2 * i) for i, b in reversed(list(enumerate(BERNOULLI[:9], 1))))


def _near_two(x: Any) -> Any:
    """``log Gamma`` on ``[1.5, 2.5]`` (DLMF 5.7.3)."""
    return polynomial(x - 2.0, _AT_TWO)


def _near_one(x: Any) -> Any:
    """The same on ``[0.5, 1.5]``, by ``Gamma(x) = Gamma(x + 1) / x``."""
    z = x - 1.0
    return polynomial(z, _AT_TWO) - np.log1p(z)


def _from_above(x: Any) -> Any:
    """Down from ``(2.5, 10)`` to ``[1.5, 2.5]`` by ``Gamma(x) = (x - 1) Gamma(x - 1)``."""
    product = np.ones_like(x)
    for _ in range(8):
        high = x > 2.5
        x = np.where(high, x - 1.0, x)
        product = np.where(high, product * x, product)
    return np.log(product) + _near_two(x)


def _stirling(x: Any) -> Any:
    """Stirling's series, from 10 on (DLMF 5.11.1)."""
    inverse = 1.0 / (x * x)
    return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + polynomial(inverse, _STIRLING) / x


def _positive_lgamma(x: Any) -> Any:
    return piecewise(
        x,
        (x < 0.5, lambda v: _near_one(1.0 + v) - np.log(v)),
        (x <= 1.5, _near_one),
        (x <= 2.5, _near_two),
        (x < 10, _from_above),
        (np.isinf(x), lambda v: v),
        (x >= 10, _stirling),
    )


def sine_of_pi(x: Any) -> Any:
    """``sin(pi x)``, exact at integers."""
    rest = x - 2.0 * np.rint(x / 2.0)
    folded = np.where(np.abs(rest) > 0.5, np.copysign(1.0, rest) - rest, rest)
    return np.sin(math.pi * folded)


def _reflected(x: Any) -> Any:
    """``Gamma(x) Gamma(1 - x) = pi / sin(pi x)`` (DLMF 5.5.3)."""
    sine = np.abs(sine_of_pi(x))
    return np.where(sine == 0, np.inf, math.log(math.pi) - np.log(sine) - _positive_lgamma(1.0 - x))


@in_double
def lgamma(x: Any) -> Any:
    """``log |Gamma(x)|``."""
    return piecewise(
        x,
        (x == 0, lambda v: np.full_like(v, np.inf)),
        (np.isneginf(x), lambda v: -v),
        (x > 0, _positive_lgamma),
        (x < 0, _reflected),
    )


def _positive_digamma(x: Any) -> Any:
    """The recurrence up to 10, then the asymptotic series (DLMF 5.5.2 and 5.11.2)."""
    total = np.zeros_like(x)
    for _ in range(10):
        low = x < 10
        total = np.where(low, total - 1.0 / np.where(low, x, 1.0), total)
        x = np.where(low, x + 1.0, x)
    inverse = 1.0 / (x * x)
    return np.where(np.isinf(x), x, total + np.log(x) - 0.5 / x - inverse * polynomial(inverse, _DIGAMMA))


def _reflected_digamma(x: Any) -> Any:
    """``psi(1 - x) - psi(x) = pi / tan(pi x)`` (DLMF 5.5.4)."""
    rest = x - np.rint(x)
    pole = rest == 0
    cotangent = math.pi / np.tan(math.pi * np.where(pole, 0.5, rest))
    return np.where(pole, np.nan, _positive_digamma(1.0 - x) - cotangent)


@in_double
def digamma(x: Any) -> Any:
    """The derivative of ``lgamma``."""
    return piecewise(
        x,
        (x == 0, lambda v: np.copysign(np.inf, -v)),
        (np.isneginf(x), lambda v: np.full_like(v, np.nan)),
        (x > 0, _positive_digamma),
        (x < 0, _reflected_digamma),
    )


def _hurwitz(s: Any, q: Any) -> Any:
    """``sum over k >= 0 of (k + q) ** -s`` by Euler-Maclaurin summation from ``k = 12`` on (DLMF 25.11.28)."""
    n = 12
    total = np.zeros_like(s)
    for k in range(n):
        total += (q + k) ** -s
    a = q + n
    total += a ** (1.0 - s) / (s - 1.0) + 0.5 * a**-s
    term = s * a ** (-s - 1.0)
    for i, b in enumerate(BERNOULLI):
        total += b / math.factorial(2 * i + 2) * term
        term = term * (s + 2 * i + 1) * (s + 2 * i + 2) / (a * a)
    return total


@in_double
def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function ``sum over k >= 0 of (k + q) ** -s`` for ``s > 1``."""
    out = np.full_like(s, np.nan)
    out[s == 1] = np.inf
    out[(s > 1) & np.isinf(q)] = np.nan
    whole = q == np.floor(q)
    out[(s > 1) & (q <= 0) & whole] = np.inf
    fine = (s > 1) & np.isfinite(q) & ((q > 0) | (~whole & (s == np.floor(s))))
    low = np.where(fine & (q < 0), np.ceil(-q), 0.0)
    sums = np.zeros_like(s)
    for k in range(int(low.max(initial=0.0))):
        sums += np.where(k < low, (q + k) ** -s, 0.0)
    out[fine] = (sums + _hurwitz(np.where(fine, s, 2.0), np.where(fine, q + low, 1.0)))[fine]
    return out


def polygamma(n: int, x: Any) -> Any:
    """The ``n``-th derivative of ``digamma``."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x)
    return ((-1.0) ** (n + 1) * math.factorial(n) * zeta(np.asarray(n + 1.0, x.dtype), x)).astype(x.dtype)


def _trigamma(x: Any) -> Any:
    """``zeta(2, x)``; at poles below 0 PyTorch's finite ``(pi / sin(pi x)) ** 2``, whose sine is not quite 0."""
    pole = (x < 0) & (x == np.floor(x)) & np.isfinite(x)
    sine = np.sin(x.dtype.type(math.pi) * np.where(pole, x, x.dtype.type(0.5)))
    out = np.where(pole, (x.dtype.type(math.pi) / sine) ** 2, zeta(np.asarray(2.0, x.dtype), x))
    out = np.where(np.isposinf(x), 0.0, np.where(np.isneginf(x), np.nan, out))
    return out.astype(x.dtype)


# -- incomplete gamma functions (DLMF 8.7.1 and 8.9.2)


def _prefactor(a: Any, x: Any) -> Any:
    """``x^a exp(-x) / Gamma(a)``."""
    return np.exp(a * np.log(x) - x - _positive_lgamma(a))


def _lower_series(a: Any, x: Any) -> Any:
    """``P(a, x)`` by the power series, for ``x < a + 1``."""
    term = 1.0 / a
    total, k = term, a.copy()
    for _ in range(3000):
        k = k + 1.0
        term = term * x / k
        total = total + term
        if not np.any(term > total * 1e-17):
            break
    return total * _prefactor(a, x)


def _upper_fraction(a: Any, x: Any) -> Any:
    """``Q(a, x)`` by the continued fraction (W. J. Lentz's evaluation), for ``x >= a + 1``."""
    tiny = 1e-300
    b = x + 1.0 - a
    c, d = np.full_like(x, 1.0 / tiny), 1.0 / b
    h = d
    for i in range(1, 3000):
        factor = -i * (i - a)
        b = b + 2.0
        d = factor * d + b
        d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = c * d
        h = h * change
        if not np.any(np.abs(change - 1.0) > 1e-16):
            break
    return h * _prefactor(a, x)


def _incomplete(a: Any, x: Any, lower: bool) -> Any:
    """The regularised incomplete gamma function P (``lower``) or Q: a series below ``a + 1``, else a fraction."""
    out = np.full_like(a, np.nan)
    start, end = (0.0, 1.0) if lower else (1.0, 0.0)
    valid = (a >= 0) & (x >= 0) & ~((a == 0) & (x == 0))
    out[valid & (x == 0)] = start
    out[valid & ((a == 0) | np.isinf(x)) & ~np.isinf(a)] = end
    out[valid & np.isinf(a) & ~np.isinf(x)] = start
    inner = valid & (x > 0) & (a > 0) & np.isfinite(a) & np.isfinite(x)
    series = inner & (x < a + 1.0)
    fraction = inner & ~series
    for where, kernel, is_lower in ((series, _lower_series, True), (fraction, _upper_fraction, False)):
        if where.any():
            value = kernel(a[where], x[where])
            out[where] = value if is_lower == lower else 1.0 - value
    return out


@in_double
def igamma(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function ``P(a, x)``."""
    return _incomplete(a, x, True)


@in_double
def igammac(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function ``Q(a, x)``."""
    return _incomplete(a, x, False)
