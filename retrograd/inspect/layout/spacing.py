"""Places things on a line as near as possible to where they should be, without overlap, in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return places with ``places[i + 1] - places[i] >= gaps[i]`` that are least squares nearest to the wishes.

    This is isotonic regression of ``wishes - offsets``, solved by pooling adjacent violators.
    """
    for before, after, gap in zip(wishes, wishes[1:], gaps, strict=False):
        if after - before < gap:
            break
    else:
        return list(wishes)
    offsets = list(accumulate(gaps, initial=0.0))
    rising = _isotonic([wish - offset for wish, offset in zip(wishes, offsets, strict=True)], weights)
    return [place + offset for place, offset in zip(rising, offsets, strict=True)]


def _isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the numbers that never fall and are least squares nearest to ``values``: means of neighbours pooled."""
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for mean, mass in zip(values, weights, strict=True):
        size = 1
        while means and means[-1] > mean:
            below = masses.pop()
            mean = (mean * mass + means.pop() * below) / (mass + below)
            mass += below
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    return [mean for mean, size in zip(means, sizes, strict=True) for _ in range(size)]
