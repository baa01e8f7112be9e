"""Numbers drawn from continuous distributions, whole numbers, weighted choices, permutations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.narrow import kind_of, limits
from ..kernels.fused import fused
from .normal import in_pairs, narrowed
from .uniform import long_words, unit_doubles

if TYPE_CHECKING:
    from ..random import Generator


# Random numbers by inverting a distribution function, in double precision.


def exponential(generator: Generator, count: int, rate: float = 1.0) -> Any:
    """Waiting times for events that come at a rate."""
    with np.errstate(all="ignore"):
        return -1.0 / rate * np.log1p(-unit_doubles(generator, count))


def cauchy(generator: Generator, count: int, median: float, width: float) -> Any:
    """Tangents of uniform angles."""
    return fused(np.tan(math.pi * (unit_doubles(generator, count) - 0.5)), width, median)


def log_normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Exponentials of normal numbers."""
    with np.errstate(all="ignore"):
        return np.exp(in_pairs(generator, count) * std + mean)


def geometric(generator: Generator, count: int, chance: float) -> Any:
    """The number of trials until the first success."""
    with np.errstate(all="ignore"):
        return np.ceil(np.log(unit_doubles(generator, count)) / math.log1p(-chance))


# Random integers from the generator's words.

_SHORT_RANGE = 2**28
"""From here on remainders of words of 32 bits would be too uneven."""


def integers(generator: Generator, count: int, low: int, high: int) -> Any:
    """Integers in ``[low, high)``, at most 2**64 of them."""
    span = high - low
    drawn = generator.words(count) if span < _SHORT_RANGE else long_words(generator, count)
    if span < 2**64:
        drawn %= np.uint64(span)
        drawn += np.uint64(low % 2**64)
    return drawn.view(np.int64)


def of_dtype(generator: Generator, count: int, numpy: Any) -> Any:
    """Integers from 0 to the largest that a dtype holds; for floating dtypes to the end of those without a gap."""
    if kind_of(numpy) == "f":
        span = 2 ** (limits(numpy).nmant + 1) + 1
    else:
        span = 2 if kind_of(numpy) == "b" else int(np.iinfo(numpy).max) + 1
    drawn = long_words(generator, count) if numpy.itemsize == 8 else generator.words(count)
    return (drawn % np.uint64(span)).view(np.int64)


# Indices drawn with given weights, a row of them for each row of weights.


def with_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """Each draw finds its place among the sums of the weights before, which are summed in their own precision."""
    precision = np.promote_types(weights.dtype, np.float32)
    edges = np.cumsum(weights, axis=1, dtype=precision)
    edges /= edges[:, -1:].copy()
    edges[:, -1] = 1
    points = unit_doubles(generator, len(weights) * count).reshape(-1, count)
    rows = zip(edges.astype(np.float64), points, strict=True)
    return np.array([np.searchsorted(edge, point) for edge, point in rows], np.int64).reshape(points.shape)


def without_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """A race: those arrive first whose weights are largest compared with exponential numbers."""
    waiting = narrowed(exponential(generator, weights.size), weights.dtype).reshape(weights.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        speed = weights / waiting
    if count == 1:
        return speed.argmax(axis=1).reshape(-1, 1)
    return np.argsort(-speed, axis=1, kind="stable")[:, :count].copy()


# Random permutations: the shuffle of Fisher and Yates.

_SHORT_WORDS = (2**32 - 1) // 20
"""From this length on, remainders of words of 32 bits would be too uneven."""
_FEW = 20_000
"""Up to so many, exchanging one after the other is faster."""


def permutation(generator: Generator, count: int) -> Any:
    """The numbers below ``count`` in random order."""
    steps = max(count - 1, 0)
    drawn = generator.words(steps) if count < _SHORT_WORDS else long_words(generator, steps)
    places = np.arange(steps, dtype=np.uint64)
    chosen = (drawn % (np.uint64(count) - places) + places).view(np.int64)
    return exchanged(chosen)[:count] if count <= _FEW else traced(chosen)


def exchanged(chosen: Any) -> Any:
    """The numbers 0, 1 … after each step ``i`` has exchanged what lies at ``i`` and at ``chosen[i] >= i``."""
    order = list(range(len(chosen) + 1))
    for place, other in enumerate(chosen.tolist()):
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64)


def traced(chosen: Any) -> Any:
    """The same for many numbers: for all of them at once it is traced back where they came from.

    What step ``i`` takes from its chosen place was put there by the last earlier step that chose the same place, out
    of its own place, and so on back to a place that no step chose before.
    """
    count = len(chosen) + 1
    keys = np.sort((chosen << 32) | np.arange(count - 1))
    place, step = keys >> 32, keys & (2**32 - 1)
    repeated = place[1:] == place[:-1]
    before = np.full(count, -1)  # the last earlier step that chose the same place as this one
    before[step[1:][repeated]] = step[:-1][repeated]
    last = np.append(~repeated, True)
    place, step = place[last], step[last]
    step = np.where(step == place, before[step], step)
    origin = np.arange(count)  # of what lies at place i when step i begins
    origin[place] = np.where(step < 0, place, step)
    while not np.array_equal(further := origin[origin], origin):
        origin = further
    before = before[:-1]
    return np.append(np.where(before < 0, chosen, origin[before]), origin[-1])
