"""Bessel and Airy functions in double precision.

Power series near 0; elsewhere the integral representations of DLMF 10.9.18 and 10.32.9, summed by the trapezoidal
rule on a path along which the integrand decays doubly exponentially, where the rule converges geometrically
(L. N. Trefethen and J. A. C. Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56 (2014)).

At infinity Ai and the unscaled functions of the first and second kind are NaN as in PyTorch, although they have limits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .gamma import EULER
from .halves import in_double, piecewise

_STEP = 0.05
_PATH = np.arange(-90, 91) * _STEP
"""The parameter ``u`` of the path ``t = u + i pi/2 tanh(u)``."""
_ANGLE = math.pi / 2 * np.tanh(_PATH)
_POINTS = _PATH + 1j * _ANGLE
_SPEEDS = 1.0 + 1j * math.pi / 2 / np.cosh(_PATH) ** 2
_BLOCK = 4096


def _in_blocks(x: Any, sums: Any) -> Any:
    """Apply ``sums`` to pieces of ``x``, so that the table of integrand values stays small."""
    if x.size <= _BLOCK:
        return sums(x)
    return np.concatenate([sums(x[i : i + _BLOCK]) for i in range(0, x.size, _BLOCK)])


_ASYMPTOTIC_FROM = 25.0


def _asymptotic_sum(order: float, z: Any) -> Any:
    """``sum of a_k(order) / z^k`` (DLMF 10.17.1)."""
    term = np.ones_like(z)
    total = np.ones_like(z)
    for k in range(1, 30):
        term = term * (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k * z)
        total = total + term
    return total


def hankel(order: float, x: Any) -> Any:
    """``H^(1)_order(x) = J + i Y`` for ``x >= 1``."""
    return np.where(
        x < _ASYMPTOTIC_FROM,
        _hankel_path(order, np.minimum(x, _ASYMPTOTIC_FROM)),
        _hankel_far(order, np.maximum(x, _ASYMPTOTIC_FROM)),
    )


def _hankel_far(order: float, x: Any) -> Any:
    """DLMF 10.17.5."""
    phase = np.exp(1j * x) * np.exp(-1j * (0.5 * order + 0.25) * math.pi)
    return np.sqrt(2.0 / (math.pi * x)) * phase * _asymptotic_sum(order, -1j * x)


def _hankel_path(order: float, x: Any) -> Any:
    """DLMF 10.9.18 along the path."""
    factors = np.exp(-order * _POINTS) * _SPEEDS
    shape = 1j * (np.cosh(_POINTS) - 1.0)

    def sums(piece: Any) -> Any:
        return np.exp(np.multiply.outer(piece, shape)) @ factors

    scale = np.exp(-0.5j * math.pi * order) / (1j * math.pi) * _STEP
    return scale * np.exp(1j * x) * _in_blocks(x, sums)


_REAL_PATH = np.arange(0, 141) * 0.1
_REAL_WEIGHTS = np.where(_REAL_PATH == 0, 0.5, 1.0) * 0.1


def scaled_k(order: float, x: Any) -> Any:
    """``exp(x) K_order(x)`` for ``x > 0`` (beyond 25 by DLMF 10.40.2)."""
    far = np.maximum(x, _ASYMPTOTIC_FROM)
    return np.where(
        x < _ASYMPTOTIC_FROM,
        _scaled_k_path(order, np.minimum(x, _ASYMPTOTIC_FROM)),
        np.sqrt(math.pi / (2.0 * far)) * _asymptotic_sum(order, far),
    )


def _scaled_k_path(order: float, x: Any) -> Any:
    """DLMF 10.32.9 along the real axis."""
    factors = np.cosh(order * _REAL_PATH) * _REAL_WEIGHTS
    shape = 1.0 - np.cosh(_REAL_PATH)

    def sums(piece: Any) -> Any:
        return np.exp(np.multiply.outer(piece, shape)) @ factors

    return _in_blocks(x, sums)


# -- power series (DLMF 10.2.2 and 10.25.2)


def _series(x: Any, order: int, sign: float, terms: int = 60) -> Any:
    """``sum of (sign x^2 / 4)^k / (k! (k + order)!) (x / 2)^order``."""
    square = sign * 0.25 * x * x
    term = (0.5 * x) ** order / math.factorial(order)
    total = term
    for k in range(1, terms):
        term = term * square / (k * (k + order))
        total = total + term
        if not np.any(np.abs(term) > np.abs(total) * 1e-18):
            break
    return total


def _harmonic_series(square: Any) -> Any:
    """``sum of H_k square^k / (k!)^2``, with ``H_k = 1 + 1/2 + ... + 1/k``."""
    term, harmonic, total = np.ones_like(square), 0.0, np.zeros_like(square)
    for k in range(1, 20):
        term = term * square / (k * k)
        harmonic += 1.0 / k
        total = total + harmonic * term
    return total


def _digamma_series(x: Any, square: Any) -> Any:
    """``sum of (psi(k + 1) + psi(k + 2)) (x / 2) square^k / (k! (k + 1)!)``."""
    term, total = 0.5 * x, np.zeros_like(x)
    psi = -2.0 * EULER + 1.0
    for k in range(20):
        total = total + psi * term
        term = term * square / ((k + 1) * (k + 2))
        psi += 1.0 / (k + 1) + 1.0 / (k + 2)
    return total


def _y0_small(x: Any) -> Any:
    """DLMF 10.8.2."""
    logarithm = (np.log(0.5 * x) + EULER) * _series(x, 0, -1.0)
    return 2.0 / math.pi * (logarithm - _harmonic_series(-0.25 * x * x))


def _y1_small(x: Any) -> Any:
    """DLMF 10.8.1."""
    rest = _digamma_series(x, -0.25 * x * x)
    return (2.0 * np.log(0.5 * x) * _series(x, 1, -1.0) - 2.0 / x - rest) / math.pi


def _from_hankel(order: int, part: str) -> Any:
    return lambda v: getattr(hankel(order, v), part)


def _limit(value: float) -> Any:
    return lambda v: np.full_like(v, value)


@in_double
def j0(x: Any) -> Any:
    """Bessel function of the first kind of order 0."""
    size = np.abs(x)
    return piecewise(size, (size < 2, lambda v: _series(v, 0, -1.0)), (np.isinf(size), _limit(np.nan)),
                     (size >= 2, _from_hankel(0, "real")))  # fmt: skip


@in_double
def j1(x: Any) -> Any:
    """Bessel function of the first kind of order 1."""
    size = np.abs(x)
    positive = piecewise(size, (size < 2, lambda v: _series(v, 1, -1.0)), (np.isinf(size), _limit(np.nan)),
                         (size >= 2, _from_hankel(1, "real")))  # fmt: skip
    return np.where(x < 0, -positive, positive)


def _second_kind(x: Any, order: int, small: Any) -> Any:
    return piecewise(x, (x == 0, _limit(-np.inf)), (x < 0, _limit(np.nan)), (x < 1.5, small),
                     (np.isinf(x), _limit(np.nan)), (x >= 1.5, _from_hankel(order, "imag")))  # fmt: skip


@in_double
def y0(x: Any) -> Any:
    """Bessel function of the second kind of order 0."""
    return _second_kind(x, 0, _y0_small)


@in_double
def y1(x: Any) -> Any:
    """Bessel function of the second kind of order 1."""
    return _second_kind(x, 1, _y1_small)


# -- modified functions


def _scaled_i(x: Any, order: int) -> Any:
    """``exp(-x) I_order(x)`` for ``x >= 0``, far from 0 by DLMF 10.40.1."""
    return piecewise(
        x,
        (x < _ASYMPTOTIC_FROM, lambda v: np.exp(-v) * _series(v, order, 1.0, 120)),
        (np.isinf(x), _limit(0.0)),
        (x >= _ASYMPTOTIC_FROM, lambda v: _asymptotic_sum(order, -v) / np.sqrt(2.0 * math.pi * v)),
    )


def _grown(x: Any, scaled: Any) -> Any:
    """``exp(x) * scaled`` where it does not overflow too early; infinity times zero at infinity."""
    half = np.exp(0.5 * x)
    return scaled * half * half


@in_double
def i0e(x: Any) -> Any:
    """``exp(-|x|) I_0(x)``."""
    return _scaled_i(np.abs(x), 0)


@in_double
def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 0."""
    size = np.abs(x)
    return _grown(size, _scaled_i(size, 0))


@in_double
def i1e(x: Any) -> Any:
    """``exp(-|x|) I_1(x)``."""
    return np.where(x < 0, -1.0, 1.0) * _scaled_i(np.abs(x), 1)


@in_double
def i1(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 1."""
    size = np.abs(x)
    return np.where(x < 0, -1.0, 1.0) * _grown(size, _scaled_i(size, 1))


def _k0_small(x: Any) -> Any:
    """DLMF 10.31.2."""
    return _harmonic_series(0.25 * x * x) - (np.log(0.5 * x) + EULER) * _series(x, 0, 1.0)


def _k1_small(x: Any) -> Any:
    """DLMF 10.31.1."""
    return np.log(0.5 * x) * _series(x, 1, 1.0) + 1.0 / x - 0.5 * _digamma_series(x, 0.25 * x * x)


def _k(x: Any, order: int, small: Any, scaled: bool) -> Any:
    def near(v: Any) -> Any:
        return small(v) * (np.exp(v) if scaled else 1.0)

    def far(v: Any) -> Any:
        return scaled_k(order, v) * (1.0 if scaled else np.exp(-v))

    return piecewise(x, (x == 0, _limit(np.inf)), (x < 0, _limit(np.nan)), (x < 1, near), (np.isinf(x), _limit(0.0)),
                     (x >= 1, far))  # fmt: skip


@in_double
def k0(x: Any) -> Any:
    """Modified Bessel function of the second kind of order 0."""
    return _k(x, 0, _k0_small, False)


@in_double
def k1(x: Any) -> Any:
    """Modified Bessel function of the second kind of order 1."""
    return _k(x, 1, _k1_small, False)


@in_double
def k0e(x: Any) -> Any:
    """``exp(x) K_0(x)``."""
    return _k(x, 0, _k0_small, True)


@in_double
def k1e(x: Any) -> Any:
    """``exp(x) K_1(x)``."""
    return _k(x, 1, _k1_small, True)


# -- Airy's function and the spherical one

_AI0, _AI0_SLOPE = 0.355028053887817239260, -0.258819403792806798405


def _airy_series(x: Any) -> Any:
    """DLMF 9.4.1."""
    cube = x**3
    f, g = np.ones_like(x), x.copy()
    even, odd = f, g
    for k in range(1, 20):
        f = f * cube / ((3 * k - 1) * (3 * k))
        g = g * cube / ((3 * k) * (3 * k + 1))
        even, odd = even + f, odd + g
    return _AI0 * even + _AI0_SLOPE * odd


def _airy_right(x: Any) -> Any:
    """DLMF 9.6.2."""
    angle = 2.0 / 3.0 * x**1.5
    return np.sqrt(x / 3.0) / math.pi * scaled_k(1.0 / 3.0, angle) * np.exp(-angle)


def _airy_left(x: Any) -> Any:
    """DLMF 9.6.5."""
    size = -x
    turned = np.exp(1j * math.pi / 6.0) * hankel(1.0 / 3.0, 2.0 / 3.0 * size**1.5)
    return np.sqrt(size / 3.0) * turned.real


@in_double
def airy_ai(x: Any) -> Any:
    """Airy's function Ai."""
    return piecewise(x, (np.isinf(x), _limit(np.nan)), (np.abs(x) < 1.8, _airy_series), (x > 0, _airy_right),
                     (x < 0, _airy_left))  # fmt: skip


@in_double
def spherical_j0(x: Any) -> Any:
    """``sin(x) / x``, 1 at 0."""
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))
