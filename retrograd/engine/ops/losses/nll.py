"""Negative log likelihood, and distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.masking import kept
from ...kernels.selecting import are_classes, picked, placed
from ...kernels.sums import summed, total
from ...rules.backward_operators import backward_operator
from ...table.rows import function
from ..pointwise.arithmetic import zero_gradient

# Negative log likelihood: input (N, C) or (C,), target (N,) or (); of images (N, C, H, W) and (N, H, W).


def _nll_weights(self_sizes: Any, numpy: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """Class of each row (0 for ignored ones) and its weight (0 for ignored ones; ``None`` where all count as 1)."""
    plain = ignore_index < 0 and weight is None and target.dtype.kind == "i" and target.size
    if plain and are_classes(target, self_sizes[-1]):  # what nearly all programs do
        return target, None
    counted = target != ignore_index
    all_counted = bool(np.logical_and.reduce(counted, axis=None))
    safe = target if all_counted else np.where(counted, target, 0)
    if safe.size:
        low, high = np.minimum.reduce(safe, axis=None), np.maximum.reduce(safe, axis=None)
        if low < 0 or high >= self_sizes[-1]:
            raise IndexError(f"Target {int(high if high >= self_sizes[-1] else low)} is out of bounds.")
    if all_counted:
        return safe, None if weight is None else weight[safe]
    rows = np.ones(target.shape, numpy) if weight is None else weight[safe]
    return safe, np.where(counted, rows, numpy.type(0))


def _nll_loss(
    self: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> tuple[Any, float]:
    """The loss, and the sum of the rows' weights (0 where nothing is summed up)."""
    safe, rows = _nll_weights(self.shape, self.dtype, target, weight, ignore_index)
    logs = picked(self, safe)
    if rows is not None:
        logs = kept(logs * rows, target != ignore_index)  # an ignored row may hold an infinity
    if reduction == "none":
        return -logs, 0.0
    weight_of_all = float(safe.size if rows is None else summed(rows))
    loss = 0 - total(logs)  # (a negative zero it is not)
    return loss if reduction == "sum" else loss / weight_of_all, weight_of_all


def _nll_backward(
    grad_output: Any, self: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100,
    total_weight: float = 0.0,
) -> Any:  # fmt: skip
    return _nll_slopes(grad_output, self.shape, self.dtype, target, weight, reduction, ignore_index, total_weight)


def _nll_slopes(
    grad_output: Any, sizes: tuple[int, ...], numpy: Any, target: Any, weight: Any, reduction: str, ignore_index: int,
    total_weight: float,
) -> Any:  # fmt: skip
    if grad_output.ndim:
        slopes = -grad_output
    else:
        # one number for all rows is cheaper as Python's, which divides just as exactly (2 for 9 µs); a mean over
        # weights of 0 gives NaN in rows that count
        one, rows_of_one = float(grad_output), total_weight if reduction == "mean" else 1
        slopes = one / -rows_of_one if rows_of_one else one * -math.inf
    safe = target
    if weight is not None or target.size != total_weight:  # not all rows count, or the forward did not find out
        safe, rows = _nll_weights(sizes, numpy, target, weight, ignore_index)
        slopes = slopes if rows is None else kept(slopes * rows, target != ignore_index)
    return placed(sizes, numpy, safe, slopes)


def _rule_by(backward: Any) -> Any:
    """The rule of a loss: ``backward`` where it computes on arrays, else the row of that name.

    That row takes the operand, whose second gradient is zeros, as PyTorch's does.
    """

    def rule(
        g: Any, self: Any, target: Any, weight: Any, reduction: str, ignore_index: int, total_weight: float
    ) -> Any:  # fmt: skip
        make = backward if g.__class__ is np.ndarray else getattr(F, backward.__name__)
        return make(g, self, target, weight, reduction, ignore_index, total_weight)

    return rule


function(
    "_nll_loss", _nll_loss, node="NllLossBackward0", tensors="self target weight", aux=("total_weight",),
    self=_rule_by(_nll_backward), layout="rows", kinds="f",
    jvp=lambda primal, tangents, results: F._nll_loss(tangents[0], *primal[1:]),
)  # fmt: skip
function(
    "_nll_backward", _nll_backward, node="NllLossBackwardBackward0", tensors="grad_output self target weight",
    grad_output=lambda g, target, weight, reduction, ignore_index: F._nll_loss(
        g, target, weight, reduction, ignore_index
    ),
    self=zero_gradient,
)  # fmt: skip


# -- of images: the classes are the second dimension


def _nll_loss_2d(
    self: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> tuple[Any, float]:
    return _nll_loss(self.transpose(0, 2, 3, 1), target, weight, reduction, ignore_index)


def _nll_backward_2d(
    grad_output: Any, self: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100,
    total_weight: float = 0.0,
) -> Any:  # fmt: skip
    n, c, h, w = self.shape
    last = _nll_slopes(grad_output, (n, h, w, c), self.dtype, target, weight, reduction, ignore_index, total_weight)
    return np.ascontiguousarray(last.transpose(0, 3, 1, 2))


function(
    "_nll_loss_2d", _nll_loss_2d, node="NllLoss2DBackward0", tensors="self target weight", aux=("total_weight",),
    self=_rule_by(_nll_backward_2d), layout="rows", kinds="f",
    jvp=lambda primal, tangents, results: F._nll_loss_2d(tangents[0], *primal[1:]),
)  # fmt: skip
function(
    "_nll_backward_2d", _nll_backward_2d, node="NllLoss2DBackwardBackward0", tensors="grad_output self target weight",
    grad_output=lambda g, target, weight, reduction, ignore_index: F._nll_loss_2d(
        g, target, weight, reduction, ignore_index
    ),
    self=zero_gradient,
)  # fmt: skip


# Distances between rows.


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
