"""Blocks of 16 uniform numbers made normal: the first eight give radii, the others angles.

PyTorch does it in single precision with the polynomials of Cephes (Moshier 1984) and fused multiply-adds. They are
followed here step by step, so that the same numbers come out to the last bit: each step computes in double precision,
where the product of two floats is exact, and rounds to single.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_CHUNK = 4096
"""Pairs at a time: intermediate results stay in the cache."""
_F = np.float32
_LOG = tuple(float(_F(c)) for c in (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
))  # fmt: skip
_LOG_2 = (_F(-2.12194440e-4), _F(0.693359375))
_COS_SIN = tuple(np.array(pair, _F).astype(np.float64)[:, None] for pair in (
    (2.443315711809948e-5, -1.9515295891e-4), (-1.388731625493765e-3, 8.3321608736e-3),
    (4.166664568298827e-2, -1.6666654611e-1),
))  # fmt: skip
_QUARTER_PI = (_F(-0.78515625), _F(-2.4187564849853515625e-4), _F(-3.77489497744594108e-8))
"""Minus a quarter of pi in three parts; few digits of the first two make their products with small integers exact."""
_ROOT_HALF = np.int32(0x3F3504F3)
"""The bits of the root of one half."""


def transformed(uniform: Any) -> Any:
    """Standard normal numbers of as many uniform ones, a multiple of 16, in single or double precision."""
    blocks = uniform.reshape(-1, 2, 8)
    drawn = np.empty_like(blocks)
    step = _CHUNK // 8
    polar = _polar if uniform.dtype == np.float32 else _polar_in_double
    for start in range(0, len(blocks), step):
        chunk = blocks[start : start + step]
        radius, cos_sin = polar(1 - chunk[:, 0].ravel(), chunk[:, 1].ravel())
        cos_sin *= radius
        drawn[start : start + step] = cos_sin.reshape(2, -1, 8).swapaxes(0, 1)
    return drawn.reshape(-1)


def _polar_in_double(first: Any, second: Any) -> tuple[Any, Any]:
    """Radius; cosine and sine."""
    angle = 2.0 * math.pi * second
    return np.sqrt(-2.0 * np.log(first)), np.stack([np.cos(angle), np.sin(angle)])


def _polar(first: Any, second: Any) -> tuple[Any, Any]:
    """Radius; cosine and sine."""
    return np.sqrt(_F(-2) * _log(first)), _cos_sin(_F(2 * math.pi) * second)


def _fused(wide: Any, y: Any, z: Any) -> Any:
    """``wide * y + z`` rounded once to single precision; the first factor, which is overwritten, is in double."""
    wide *= y
    wide += z
    return wide.astype(_F)


def _horner(x: Any, coefficients: tuple[Any, ...]) -> Any:
    """A polynomial, rounded to single precision after each step."""
    x = x.astype(np.float64)
    value = x * coefficients[0]
    value += coefficients[1]
    single = value.astype(_F)
    for coefficient in coefficients[2:]:
        value[...] = single
        value *= x
        value += coefficient
        single[...] = value
    return single


def _log(x: Any) -> Any:
    """The natural logarithm of normal positive numbers."""
    bits = x.view(np.int32) - _ROOT_HALF
    exponent = (bits >> np.int32(23)).astype(_F)
    bits &= np.int32(0x7FFFFF)
    bits += _ROOT_HALF
    x = bits.view(_F) - _F(1)  # the mantissa lies around 1
    square = x * x
    value = _horner(x, _LOG)
    value *= x
    value = _fused(square.astype(np.float64), value, exponent * _LOG_2[0])
    value -= square * _F(0.5)
    value += x
    value += exponent * _LOG_2[1]
    return value


def _cos_sin(angle: Any) -> Any:
    """Cosine and sine of angles in ``[0, 2 pi]``, in two rows."""
    octant = (angle * _F(4 / math.pi)).astype(np.int32)
    octant += np.int32(1)
    octant &= np.int32(~1)
    multiple = octant.astype(_F)
    angle += multiple * _QUARTER_PI[0]
    angle += multiple * _QUARTER_PI[1]
    angle = _fused(multiple.astype(np.float64), _QUARTER_PI[2], angle)
    square = angle * angle
    rows = _horner(square, _COS_SIN)
    rows *= square
    cosine, sine = rows
    cosine[...] = _fused(square.astype(np.float64), cosine, square * _F(-0.5))
    cosine += _F(1)
    sine[...] = _fused(angle.astype(np.float64), sine, angle)
    _turn(rows.view(np.int32), octant)
    return rows


def _turn(rows: Any, octant: Any) -> None:
    """Exchange cosine and sine where they belong to the other axis, and set their signs, all in the bits."""
    swapped = -((octant & np.int32(2)) >> np.int32(1))
    different = (rows[0] ^ rows[1]) & swapped
    rows ^= different
    rows[0] ^= ((octant + np.int32(2)) & np.int32(4)) << np.int32(29)
    rows[1] ^= (octant & np.int32(4)) << np.int32(29)
