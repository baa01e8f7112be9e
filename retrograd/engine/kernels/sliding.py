"""Sliding windows over the spatial dimensions of arrays ``(N, C, *spatial)``, shared by convolutions and pools."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Sizes = tuple[int, ...]


def sizes_of(value: Any, dims: int, name: str = "argument") -> Sizes:
    """An ``int`` or a sequence as one number per spatial dimension."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * dims
    found = tuple(int(v) for v in value)
    if len(found) == 1:
        return found * dims
    if len(found) != dims:
        raise RuntimeError(f"{name} must be an int or a tuple of {dims} ints, but got {list(found)}")
    return found


def window_span(kernel: Sizes, dilation: Sizes) -> Sizes:
    """How far a dilated window reaches in each dimension."""
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def window_count(spatial: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    """How many whole windows fit in each dimension."""
    spans = window_span(kernel, dilation)
    return tuple((n + 2 * p - s) // t + 1 for n, s, t, p in zip(spatial, spans, stride, padding, strict=True))


def overhang(spatial: Sequence[int], spans: Sizes, stride: Sizes, padding: Sizes, count: Sizes) -> Sizes:
    """Padding behind the data: what the last windows reach over, which is more than ``padding`` in ceil mode."""
    every = zip(padding, count, stride, spans, spatial, strict=True)
    return tuple(max(p, (c - 1) * t + s - n - p) for p, c, t, s, n in every)


def transposed_size(
    count: Sequence[int], kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, extra: Sizes
) -> Sizes:
    """The size of what has ``count`` windows, with ``extra`` places behind the last one."""
    spans = window_span(kernel, dilation)
    every = zip(count, spans, stride, padding, extra, strict=True)
    return tuple((c - 1) * t + s - 2 * p + e for c, s, t, p, e in every)


def taps(kernel: Sizes, stride: Sizes, dilation: Sizes, count: Sizes) -> Iterator[tuple[Any, ...]]:
    """For each position inside the window: the index that reads it from a padded array, for all windows at once."""
    for offset in itertools.product(*map(range, kernel)):
        yield (
            ...,
            *(
                slice(o * d, o * d + (c - 1) * t + 1, t)
                for o, d, c, t in zip(offset, dilation, count, stride, strict=True)
            ),
        )


def padded(x: Any, before: Sizes, after: Sizes, value: Any = 0) -> Any:
    """The array with ``value`` around its last dimensions; itself where nothing is added."""
    if not any(before) and not any(after):
        return x
    lead = x.ndim - len(before)
    shape = x.shape[:lead] + tuple(n + b + a for n, b, a in zip(x.shape[lead:], before, after, strict=True))
    out = np.zeros(shape, x.dtype) if not value else np.full(shape, value, x.dtype)
    out[inner(before, x.shape[lead:])] = x
    return out


def inner(before: Sizes, spatial: Sequence[int]) -> tuple[Any, ...]:
    """The index of the part of a padded array that is not padding."""
    return (..., *(slice(b, b + n) for b, n in zip(before, spatial, strict=True)))


def windows(x: Any, kernel: Sizes, stride: Sizes, dilation: Sizes, count: Sizes) -> Any:
    """All windows of a padded array: a view ``(N, C, *kernel, *count)``."""
    steps = x.strides[2:]
    inside = [d * s for d, s in zip(dilation, steps, strict=True)]
    between = [t * s for t, s in zip(stride, steps, strict=True)]
    shape, strides = (*x.shape[:2], *kernel, *count), (*x.strides[:2], *inside, *between)
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def add_columns(cols: Any, spatial: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Any:
    """The transpose of ``columns``: windows summed up where they overlap, in an array of ``spatial`` size."""
    n, c = cols.shape[:2]
    out = np.zeros((n, c, *spatial), cols.dtype)
    for k, tap in enumerate(taps(kernel, stride, dilation, cols.shape[3:])):
        out[tap] += cols[:, :, k]
    return out
