"""Normal numbers: pairs of Box and Muller (1958), one after the other or in blocks of 16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.narrow import kind_of
from ..kernels.fused import fused
from .uniform import unit_doubles, unit_floats, unit_numbers

if TYPE_CHECKING:
    from ..random import Generator


# Blocks of 16 uniform numbers made normal: the first eight give radii, the others angles (Box and Muller 1958).

_CHUNK = 512
"""Blocks at a time: intermediate results stay in the cache."""


def transformed(uniform: Any) -> Any:
    """Standard normal numbers of as many uniform ones, a multiple of 16, in single or double precision."""
    blocks = uniform.reshape(-1, 2, 8)
    drawn = np.empty_like(blocks)
    for start in range(0, len(blocks), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        radius, angle = _polar(blocks[chunk, 0], blocks[chunk, 1])
        np.multiply(np.cos(angle), radius, out=drawn[chunk, 0])
        np.multiply(np.sin(angle), radius, out=drawn[chunk, 1])
    return drawn.reshape(-1)


def _polar(first: Any, second: Any) -> tuple[Any, Any]:
    """Radius and angle of points in the plane, each coordinate of which is normal."""
    radius = np.subtract(1, first)
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    return radius, np.multiply(2 * math.pi, second)


_BLOCK = 16
_FEW = 32
"""Up to so many, Python's functions of numbers are faster than NumPy's of arrays."""


def normal(
    generator: Generator, count: int, numpy: Any, mean: float = 0.0, std: float = 1.0, *, rows: bool = True
) -> Any:
    """Normal numbers in a dtype; ``rows``: the tensor that they are for is contiguous."""
    if kind_of(numpy) == "c":
        real = np.dtype(f"f{numpy.itemsize // 2}")
        return normal(generator, 2 * count, real, mean, std / math.sqrt(2), rows=rows).view(numpy)
    if not rows or count < _BLOCK:
        pairs = in_pairs(generator, count)
        return narrowed(pairs if (mean, std) == (0.0, 1.0) else fused(pairs, float(std), float(mean)), numpy)
    drawn = _in_blocks(generator, count, numpy)
    if (mean, std) != (0.0, 1.0):
        std_, mean_ = narrowed(np.array([std, mean], np.float64), drawn.dtype).tolist()
        drawn = fused(drawn, std_, mean_)
    return narrowed(drawn, numpy)


def narrowed(values: Any, numpy: Any) -> Any:
    """Numbers in another dtype, infinite where it is too narrow; half precision is reached by way of single."""
    if values.dtype == numpy:
        return values
    with np.errstate(all="ignore"):
        if kind_of(numpy) == "f" and numpy.itemsize < 4:
            values = values.astype(np.float32)
        return values.astype(numpy, copy=False)


# -- in pairs


def in_pairs(generator: Generator, count: int) -> Any:
    """Standard normal numbers in double precision, each second one of which is kept for later if it is not needed."""
    with generator.lock:
        kept = [] if generator.spare is None else [generator.spare]
        if not count:
            return np.empty(0)
        short = count - len(kept)
        draw = _few_pairs if short <= _FEW else _pairs
        drawn = draw(generator, short + short % 2)
        if short % 2 or kept:
            generator.keep(float(drawn[-1]) if short % 2 else None)
    drawn = drawn[:short]
    return np.concatenate([kept, drawn]) if kept else np.asarray(drawn)


def _pairs(generator: Generator, count: int) -> Any:
    uniform = unit_doubles(generator, count)
    radius = np.sqrt(-2.0 * np.log1p(-uniform[1::2]))
    angle = 2.0 * math.pi * uniform[::2]
    drawn = np.empty(len(uniform))
    np.multiply(radius, np.cos(angle), out=drawn[::2])
    np.multiply(radius, np.sin(angle), out=drawn[1::2])
    return drawn


def _few_pairs(generator: Generator, count: int) -> list[float]:
    uniform, drawn = iter(unit_numbers(generator, count)), []
    for first, second in zip(uniform, uniform, strict=True):
        radius, angle = math.sqrt(-2.0 * math.log1p(-second)), 2.0 * math.pi * first
        drawn += [radius * math.cos(angle), radius * math.sin(angle)]
    return drawn


# -- in blocks


def _in_blocks(generator: Generator, count: int, numpy: Any) -> Any:
    """Blocks of 16; the last one, drawn anew, overlaps that before it if the count is no multiple."""
    whole, rest = count - count % _BLOCK, count % _BLOCK
    with generator.lock:
        if numpy.itemsize < 4:
            uniform = unit_floats(generator, whole + _BLOCK * bool(rest))
        else:  # a number for each element first, then 16 new ones
            draw = unit_floats if numpy.itemsize == 4 else unit_doubles
            uniform = draw(generator, count)
            if rest:
                uniform = np.concatenate([uniform[:whole], draw(generator, _BLOCK)])
    drawn = transformed(uniform)
    if not rest:
        return drawn
    ending = drawn[whole:].copy()
    drawn = drawn[:count]
    drawn[-_BLOCK:] = ending
    return drawn
