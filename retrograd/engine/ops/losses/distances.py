"""Distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.sums import summed
from ...rules.backward_operators import backward_operator
from ...table.registry import F
from ...table.rows import function


def _powers(away: Any, p: float) -> Any:
    size = np.abs(away)
    if p == 0:
        return np.add.reduce(size != 0, axis=-1).astype(away.dtype)
    if p == 1:
        return summed(size, (size.ndim - 1,))
    if p == 2:
        return np.sqrt(summed(size * size, (size.ndim - 1,)))
    if np.isinf(p):
        return np.maximum.reduce(size, axis=-1, initial=0)
    return summed(size**p, (size.ndim - 1,)) ** (1 / p)


def _unit(away: Any, distance: Any, p: float) -> Any:
    """The derivative of the ``p``-distance by the difference; ``distance`` has a last dimension of 1."""
    if p == 0:
        return F.zeros_like(away)
    if p == 1:
        return F.sgn(away)
    safe = F._where(distance == 0, F.ones_like(distance), distance)
    if p == 2:
        return F._where(distance == 0, F.zeros_like(away), away / safe)
    if np.isinf(p):
        return F.sgn(away) * F._where(F.abs(away) == distance, F.ones_like(away), F.zeros_like(away))
    size = F.abs(away)
    held = F._where(size == 0, F.ones_like(size), size)
    powered = F._where(size == 0, F.zeros_like(size), held ** (p - 1))
    return F.sgn(away) * powered * safe ** (1 - p)


def _cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    if not x1.shape[-1]:
        return np.zeros(np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]) + (x1.shape[-2], x2.shape[-2]), x1.dtype)
    return _powers(x1[..., :, None, :] - x2[..., None, :, :], p)


def _cdist_slope(g: Any, x1: Any, x2: Any, p: float) -> Any:
    away = F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3)
    # the distance is computed again, so that its own dependence on the points is part of the second order
    distance = F.unsqueeze(F._cdist(x1, x2, p), -1)
    return F.unsqueeze(g, -1) * _unit(away, distance, p)


function(
    "_cdist", _cdist, node="CdistBackward0", promote="", keeps="result",
    x1=lambda g, x1, x2, p: F.sum_to_size(F._sum_dim(_cdist_slope(g, x1, x2, p), -2), tuple(x1.shape)),
    x2=lambda g, x1, x2, p: F.sum_to_size(F._sum_dim(-_cdist_slope(g, x1, x2, p), -3), tuple(x2.shape)),
    kinds="w", layout="rows",
)  # fmt: skip


def _with_squares(x: Any, first: bool) -> Any:
    """Rows beside their squared lengths and ones, so that a product of two such matrices holds squared distances."""
    squares = F._sum_dim(x * x, -1, True)
    ones = F.ones_like(squares)
    return F.cat([x * -2.0, squares, ones], -1) if first else F.cat([x, ones, squares], -1)


def _euclidean_dist(x1: Any, x2: Any) -> Any:
    product = np.matmul(_with_squares(x1, True), np.swapaxes(_with_squares(x2, False), -1, -2))
    return np.sqrt(np.maximum(product, 0))


def _euclidean_ratio(g: Any, result: Any) -> Any:
    """The gradient over the distance, 0 where the distance is 0."""
    return F._where(result == 0, F.zeros_like(g), g / result)


function(
    "_euclidean_dist", _euclidean_dist, node="EuclideanDistBackward0", promote="",
    x1=lambda g, x1, x2, result: _euclidean_slope(_euclidean_ratio(g, result), x1, x2),
    x2=lambda g, x1, x2, result: _euclidean_slope(F.transpose(_euclidean_ratio(g, result), -2, -1), x2, x1),
    kinds="wh",
)  # fmt: skip


def _euclidean_slope(ratio: Any, x: Any, other: Any) -> Any:
    return x * F._sum_dim(ratio, -1, True) - F._matmul(ratio, other)


def _pdist(self: Any, p: float = 2.0) -> Any:
    """Distances of all pairs of rows ``i < j``."""
    first, second = np.triu_indices(len(self), 1)
    return _powers(self[first] - self[second], p)


def _pdist_slope(g: Any, self: Any, p: float) -> Any:
    n = self.shape[0]
    first, second = np.triu_indices(n, 1)
    distance = F.unsqueeze(F._pdist(self, p), -1)
    away = F._index(self, (first,)) - F._index(self, (second,))
    slope = F.unsqueeze(g, -1) * _unit(away, distance, p)
    sizes = tuple(self.shape)
    return F._index_backward(slope, sizes, (first,)) - F._index_backward(slope, sizes, (second,))


function(
    "_pdist",
    _pdist,
    node="PdistBackward0",
    tensors="self",
    self=backward_operator("pdist", _pdist_slope),
    keeps="result",
    kinds="w",
)
