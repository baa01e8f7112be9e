"""Linear maps that work on one dimension at a time: repeated elements, weighted neighbours, and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np


def take_along(x: Any, index: Any, axis: int) -> Any:
    """The elements ``index`` of one dimension."""
    return np.take(x, index, axis=axis)


def add_at(g: Any, index: Any, axis: int, size: int) -> Any:
    """The transpose of ``take_along``: what came from one element is summed up (``np.add.at`` is far slower)."""
    shape = list(g.shape)
    shape[axis] = size
    out = np.zeros(shape, g.dtype)
    if not len(index) or not g.size:
        return out
    if np.any(index[1:] < index[:-1]):
        order = np.argsort(index, kind="stable")
        g, index = np.take(g, order, axis=axis), index[order]
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    add: Any = np.add
    place: list[Any] = [slice(None)] * g.ndim
    place[axis] = index[starts]
    out[tuple(place)] = add.reduceat(g, starts, axis=axis)
    return out


def _along(weights: Any, axis: int, ndim: int, dtype: Any) -> Any:
    shape = [1] * ndim
    shape[axis] = -1
    return weights.reshape(shape).astype(dtype)


def blend(x: Any, maps: Any) -> Any:
    """Each element of the result is a weighted sum of a few elements, dimension by dimension.

    ``maps`` holds ``(axis, indices, weights)``: both ``(taps, size of the result)``; no weights means one tap.
    """
    for axis, indices, weights in maps:
        if weights is None:
            x = take_along(x, indices[0], axis)
            continue
        x = sum(
            take_along(x, i, axis) * _along(w, axis, x.ndim, x.dtype) for i, w in zip(indices, weights, strict=True)
        )
    return x


def blend_back(g: Any, maps: Any, sizes: tuple[int, ...]) -> Any:
    """The transpose of ``blend``."""
    for axis, indices, weights in maps:
        n = sizes[axis]
        if weights is None:
            g = add_at(g, indices[0], axis, n)
            continue
        g = sum(add_at(g * _along(w, axis, g.ndim, g.dtype), i, axis, n) for i, w in zip(indices, weights, strict=True))
    return g
