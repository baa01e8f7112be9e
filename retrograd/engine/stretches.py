"""Windows summed up where they overlap, by long stretches of memory: the last step of a convolution's transpose.

Where windows move by single steps, what one position inside the window adds to all windows lies in neighbouring places
of a row.  With zeros for the windows that would reach over a row's end, the rows make one stretch, and adding it takes
one call for an image in place of one for each of its rows: on a convolution of 32 images of 16 channels of 14 x 14
that halves the time (7.8 to 3.2 ms, for 13 % more products).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from .sliding import Sizes

_MOST_WASTE = 1.4
"""How many times more products than windows there may be."""


class Stretch:
    """How windows ``count`` of an array of ``spatial`` size, one step apart, stand in one stretch."""

    def __init__(self, spatial: Sizes, count: Sizes) -> None:
        self.spatial, self.count = spatial, count
        self.pitch = tuple([math.prod(spatial[i + 1 :]) for i in range(len(spatial))])
        self.length = 1 + sum([(c - 1) * p for c, p in zip(count, self.pitch, strict=True)])

    def pays(self, stride: Sizes) -> bool:
        """Whether windows are one step apart and few of the stretch's places are none of them."""
        return set(stride) == {1} and min(self.count) > 0 and self.length <= _MOST_WASTE * math.prod(self.count)

    def laid_out(self, values: Any) -> Any:
        """Values of windows ``(N, C, *count)`` among zeros, ``(N, C, length)``."""
        n, c = values.shape[:2]
        out = np.zeros((n, c, self.length), values.dtype)
        strides = (*out.strides[:2], *[p * out.itemsize for p in self.pitch])
        np.lib.stride_tricks.as_strided(out, values.shape, strides)[...] = values
        return out

    def summed(self, cols: Any, kernel: Sizes, dilation: Sizes) -> Any:
        """``sliding.add_columns`` of columns ``(N, C, kernel, length)``."""
        n, c = cols.shape[:2]
        out = np.zeros((n, c, math.prod(self.spatial)), cols.dtype)
        steps = [range(0, k * d * p, d * p) for k, d, p in zip(kernel, dilation, self.pitch, strict=True)]
        for k, offset in enumerate(itertools.product(*steps)):
            start = sum(offset)
            out[:, :, start : start + self.length] += cols[:, :, k]
        return out.reshape(n, c, *self.spatial)
