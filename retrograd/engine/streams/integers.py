"""Random integers from the generator's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tensors.narrow import kind_of, limits
from .uniform import long_words

if TYPE_CHECKING:
    from ..random import Generator

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
