"""Uniform numbers and random bits from the generator's words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.narrow import kind_of
from ..kernels.fused import fused

if TYPE_CHECKING:
    from ..random import Generator

Draw = Callable[..., Any]

_FEW = 32
"""Up to so many, Python computes faster with numbers than NumPy with arrays."""
_UNIT_24, _BITS_24 = np.float32(2.0**-24), np.uint32(2**24 - 1)
_UNIT_53, _BITS_53 = 2.0**-53, np.uint64(2**53 - 1)
_HIGH_BITS = np.uint64(2 ** (53 - 32) - 1)
"""Those of the first of two words that are used."""
_WORD = np.uint64(32)
_PIECE = 2**15
"""So many numbers are made at a time: words take twice or four times their memory, and stay in the cache so."""


def _in_pieces(numpy: Any) -> Callable[[Draw], Draw]:
    """Many numbers are drawn piece by piece; other threads wait meanwhile."""

    def decorate(draw: Draw) -> Draw:
        @functools.wraps(draw)
        def drawn(generator: Generator, count: int, *args: Any) -> Any:
            if count <= _PIECE:
                return draw(generator, count, *args)
            made = np.empty(count, numpy)
            with generator.lock:
                for start in range(0, count, _PIECE):
                    piece = made[start : start + _PIECE]
                    piece[...] = draw(generator, len(piece), *args)
            return made

        return drawn

    return decorate


@_in_pieces(np.float32)
def unit_floats(generator: Generator, count: int) -> Any:
    """Multiples of 2**-24 below 1, in single precision, of a word each."""
    low = generator.words(count).astype(np.uint32)
    low &= _BITS_24
    drawn = low.view(np.int32).astype(np.float32)
    drawn *= _UNIT_24
    return drawn


@_in_pieces(np.float64)
def unit_doubles(generator: Generator, count: int) -> Any:
    """Multiples of 2**-53 below 1, of two words each."""
    if count <= _FEW:
        return np.array(unit_numbers(generator, count), np.float64)
    bits = long_words(generator, count)
    bits &= _BITS_53
    drawn = bits.view(np.int64).astype(np.float64)
    drawn *= _UNIT_53
    return drawn


def unit_numbers(generator: Generator, count: int) -> list[float]:
    """The same as numbers."""
    words = iter(generator.words(2 * count).tolist())
    return [((high & 0x1FFFFF) << 32 | low) * _UNIT_53 for high, low in zip(words, words, strict=True)]


def unit_for(generator: Generator, count: int, numpy: Any) -> Any:
    """What probabilities of a dtype are compared with."""
    return unit_doubles(generator, count) if numpy == np.float64 else unit_floats(generator, count)


@_in_pieces(np.uint64)
def long_words(generator: Generator, count: int) -> Any:
    """Words of 64 bits, of two each, the first being the high one."""
    words = generator.words(2 * count)
    joined = words[::2] << _WORD
    joined |= words[1::2]
    return joined


def uniform(generator: Generator, count: int, numpy: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Numbers between ``low`` and ``high`` in a dtype."""
    if kind_of(numpy) == "c":
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
    drawn[drawn == numpy.type(high)] = low  # rounding may return it, but it is excluded
    return drawn


@_in_pieces(np.bool_)
def trials(generator: Generator, count: int, chance: float) -> Any:
    """Truth values, each true with a probability."""
    if count <= _FEW:
        return np.array([number < chance for number in unit_numbers(generator, count)], bool)
    limit = -int(-chance * 2**53 // 1)  # so many of the numbers of 53 bits are below the probability
    bound, rest = divmod(limit, 2**32)
    words = generator.words(2 * count)
    high = words[::2] & _HIGH_BITS
    happened = high < np.uint64(bound)
    (even,) = np.nonzero(high == np.uint64(bound))
    happened[even] = words[2 * even + 1] < np.uint64(rest)
    return happened
