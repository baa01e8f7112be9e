"""Random permutations: the shuffle of Fisher and Yates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .uniform import long_words

if TYPE_CHECKING:
    from ..random import Generator

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
