"""Linear maps that work on one dimension at a time: repeated elements, weighted neighbours, and their transposes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NO_ELEMENT = -1
"""The index of a tap that some elements of a result have and this one has not; its weight is 0."""


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


def _weighted(x: Any, index: Any, weights: Any, axis: int) -> Any:
    """One tap's share; zero where there is no tap, whatever the memory holds (0 times infinity is NaN)."""
    share = x * _along(weights, axis, x.ndim, x.dtype)
    nothing = np.flatnonzero(index == NO_ELEMENT)
    if len(nothing):
        share[(slice(None),) * axis + (nothing,)] = 0
    return share


def _along(weights: Any, axis: int, ndim: int, dtype: Any) -> Any:
    shape = [1] * ndim
    shape[axis] = -1
    return weights.reshape(shape).astype(dtype)


_MOST_CELLS = 1 << 19
"""Size of a dimension's matrix up to which a product with it is the quickest way."""


def _as_products(x: Any, maps: Any, sizes: tuple[int, ...]) -> bool:
    """Whether matrices, mostly of zeros, serve: they are small, and nothing is infinite (0 times infinity is NaN).

    BLAS then takes a tenth to a third of the time of sums of neighbours, and a twentieth in backward.
    """
    small = all(indices.shape[1] * sizes[axis] <= _MOST_CELLS for axis, indices, _ in maps)
    return small and x.size > 0 and x.dtype.char in "fd" and bool(np.isfinite(np.add.reduce(x, axis=None)))


def _matrix(indices: Any, weights: Any, size: int, dtype: Any) -> Any:
    """The matrix ``(size of the result, size of the source)`` of one dimension's map."""
    m = indices.shape[1]
    matrix, rows = np.zeros((m, size), dtype), np.arange(m)
    for i, w in zip(indices, np.ones(indices.shape) if weights is None else weights, strict=True):
        matrix[rows, i] += w.astype(dtype)
    return matrix


def _product(matrix: Any, x: Any, axis: int) -> Any:
    """A matrix times each line of ``x`` along an axis."""
    if axis == x.ndim - 1:
        return np.matmul(x, matrix.T)
    lines = x.reshape(*x.shape[: axis + 1], math.prod(x.shape[axis + 1 :]))
    return np.matmul(matrix, lines).reshape(*x.shape[:axis], len(matrix), *x.shape[axis + 1 :])


def blend(x: Any, maps: Any) -> Any:
    """Each element of the result is a weighted sum of a few elements, dimension by dimension.

    ``maps`` holds ``(axis, indices, weights)``: both ``(taps, size of the result)``; no weights means one tap.
    """
    products = any(w is not None for _, _, w in maps) and _as_products(x, maps, x.shape)
    for axis, indices, weights in maps:
        if weights is None:
            x = take_along(x, indices[0], axis)
        elif products:
            x = _product(_matrix(indices, weights, x.shape[axis], x.dtype), x, axis)
        else:
            x = sum(_weighted(take_along(x, i, axis), i, w, axis) for i, w in zip(indices, weights, strict=True))
    return x


def blend_back(g: Any, maps: Any, sizes: tuple[int, ...]) -> Any:
    """The transpose of ``blend``."""
    products = _as_products(g, maps, sizes)
    for axis, indices, weights in maps:
        n = sizes[axis]
        if products:
            g = _product(_matrix(indices, weights, n, g.dtype).T, g, axis)
        elif weights is None:
            g = add_at(g, indices[0], axis, n)
        else:
            taps = zip(indices, weights, strict=True)
            g = sum(add_at(_weighted(g, i, w, axis), np.maximum(i, 0), axis, n) for i, w in taps)
    return g
