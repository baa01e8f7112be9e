"""Uniform numbers and random bits out of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.fused import fused

if TYPE_CHECKING:
    from ..random import Generator

_HIGH_BITS = np.uint64(2 ** (53 - 32) - 1)
"""Those of the first of two words that are used."""


def unit_floats(generator: Generator, count: int) -> Any:
    """Multiples of 2**-24 below 1, in single precision, of a word each."""
    low = generator.words(count).astype(np.uint32)
    low &= np.uint32(0xFFFFFF)
    return low.view(np.int32).astype(np.float32) * np.float32(2.0**-24)


def unit_doubles(generator: Generator, count: int) -> Any:
    """Multiples of 2**-53 below 1, of two words each."""
    bits = long_words(generator, count)
    bits &= np.uint64(2**53 - 1)
    return bits.view(np.int64).astype(np.float64) * 2.0**-53


def unit_for(generator: Generator, count: int, numpy: Any) -> Any:
    """What probabilities of a dtype are compared with."""
    return unit_doubles(generator, count) if numpy == np.float64 else unit_floats(generator, count)


def long_words(generator: Generator, count: int) -> Any:
    """Words of 64 bits, of two each, the first being the high one."""
    words = generator.words(2 * count)
    joined = words[::2] << np.uint64(32)
    joined |= words[1::2]
    return joined


def uniform(generator: Generator, count: int, numpy: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Numbers between ``low`` and ``high`` in a dtype."""
    if numpy.kind == "c":
        real = np.dtype(f"f{numpy.itemsize // 2}")
        return uniform(generator, 2 * count, real, low, high).view(numpy)
    single = numpy.itemsize < 8
    drawn = unit_floats(generator, count) if single else unit_doubles(generator, count)
    if (low, high) != (0.0, 1.0):
        working = np.float32 if single else np.float64
        drawn = fused(drawn, float(working(high) - working(low)), float(working(low)))
    elif numpy.itemsize > 2:
        return drawn
    drawn = drawn.astype(numpy, copy=False)
    drawn[drawn == numpy.type(high)] = low  # which rounding may give, but is no member
    return drawn


def trials(generator: Generator, count: int, chance: float) -> Any:
    """Truth values, each true with a probability."""
    limit = -int(-chance * 2**53 // 1)  # so many of the numbers of 53 bits are below the probability
    bound, rest = divmod(limit, 2**32)
    words = generator.words(2 * count)
    high = words[::2] & _HIGH_BITS
    happened = high < np.uint64(bound)
    (even,) = np.nonzero(high == np.uint64(bound))
    happened[even] = words[2 * even + 1] < np.uint64(rest)
    return happened
