"""Placing things on a line as near as possible to where they want to be, without overlap, in linear time."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return places with ``places[i + 1] - places[i] >= gaps[i]`` that are least squares nearest to the wishes.

    This is isotonic regression of ``wishes - offsets``, solved by pooling adjacent violators.
    """
    for before, after, gap in zip(wishes, wishes[1:], gaps, strict=False):
        if after - before < gap:
            break
    else:
        return list(wishes)
    offset = 0.0
    offsets = [0.0]
    for gap in gaps:
        offset += gap
        offsets.append(offset)
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for wish, weight, shift in zip(wishes, weights, offsets, strict=True):
        mean, mass, size = wish - shift, weight, 1
        while means and means[-1] > mean:
            below = masses.pop()
            mean = (mean * mass + means.pop() * below) / (mass + below)
            mass += below
            size += sizes.pop()
        means.append(mean)
        masses.append(mass)
        sizes.append(size)
    pooled = [mean for mean, size in zip(means, sizes, strict=True) for _ in range(size)]
    return [mean + shift for mean, shift in zip(pooled, offsets, strict=True)]
