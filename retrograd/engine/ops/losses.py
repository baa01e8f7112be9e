"""Losses of neural networks: element-wise ones with their reduction, margins, distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.registry import F
from ..table.rows import function
from ..tensors.base import TensorBase, wrap


def reduce_array(values: Any, reduction: str) -> Any:
    """A loss per element as asked: ``"none"``, ``"sum"`` or ``"mean"``."""
    if reduction == "none":
        return values
    total = np.add.reduce(values, axis=None, dtype=values.dtype)
    return total if reduction == "sum" else (total / values.dtype.type(values.size)).astype(values.dtype)


def count(sizes: Any) -> int:
    """How many elements a shape has."""
    return int(np.prod(tuple(sizes)))


def _scaled(g: Any, slope: Any, reduction: str) -> Any:
    return g * slope / count(slope.shape) if reduction == "mean" else g * slope


# -- differences


def _smooth_l1(self: Any, target: Any, reduction: str, beta: float) -> Any:
    size = np.abs(self - target)
    inner = 0.5 * size * size / beta if beta else size
    return reduce_array(np.where(size < beta, inner, size - 0.5 * beta).astype(size.dtype), reduction)


def _smooth_l1_slope(g: Any, self: Any, target: Any, reduction: str, beta: float) -> Any:
    away = self - target
    inner = away / beta if beta else away
    return _scaled(g, F._where(F.abs(away) >= beta, F.sgn(away), inner), reduction)


def _huber(self: Any, target: Any, reduction: str, delta: float) -> Any:
    size = np.abs(self - target)
    return reduce_array(np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


def _huber_slope(g: Any, self: Any, target: Any, reduction: str, delta: float) -> Any:
    away = self - target
    return _scaled(g, F._where(F.abs(away) >= delta, delta * F.sgn(away), away), reduction)


function(
    "_smooth_l1_loss", _smooth_l1, node="SmoothL1LossBackward0", promote="common", self=_smooth_l1_slope,
    target=lambda g, self, target, reduction, beta: -_smooth_l1_slope(g, self, target, reduction, beta),
    kinds="f", layout="operands",
)  # fmt: skip
function(
    "_huber_loss", _huber, node="HuberLossBackward0", promote="common", self=_huber_slope,
    target=lambda g, self, target, reduction, delta: -_huber_slope(g, self, target, reduction, delta),
    kinds="f", layout="operands",
)  # fmt: skip


def _soft_margin(self: Any, target: Any, reduction: str) -> Any:
    return reduce_array(np.log1p(np.exp(-target * self)), reduction)  # (large margins overflow, in PyTorch as well)


def _soft_margin_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    z = F.exp(-target * self)
    return _scaled(g, -target * (z / (z + 1)), reduction)


function(
    "_soft_margin_loss", _soft_margin, node="SoftMarginLossBackward0", tensors="self target", promote="common",
    self=_soft_margin_slope, kinds="fc", real_only="soft_margin_loss", layout="operands",
)  # fmt: skip

# -- probabilities


def _weighted(values: Any, weight: Any) -> Any:
    return values if weight is None else values * weight


def _bce(self: Any, target: Any, weight: Any, reduction: str) -> Any:
    for name, values in (("input", self), ("target", target)):
        if values.size and not (values.min() >= 0 and values.max() <= 1):  # also for NaN
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    low = self.dtype.type(-100)
    loss = -(target * np.maximum(np.log(self), low) + (1 - target) * np.maximum(np.log1p(-self), low))
    return reduce_array(_weighted(loss, weight).astype(self.dtype), reduction)


def _bce_self(g: Any, self: Any, target: Any, weight: Any, reduction: str) -> Any:
    spread = self * (1 - self)
    safe = F._where(spread < 1e-12, 1e-12 * F.ones_like(spread), spread)
    return _scaled(g, _weighted((self - target) / safe, weight), reduction)


def _bce_target(g: Any, self: Any, weight: Any, reduction: str) -> Any:
    return _scaled(g, _weighted(F.log(1 - self) - F.log(self), weight), reduction)


function("_binary_cross_entropy", _bce, node="BinaryCrossEntropyBackward0", tensors="self target weight", promote="",
         self=_bce_self, target=_bce_target, kinds="f", layout="operands")  # fmt: skip


def _log_sigmoid(x: Any) -> Any:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _bce_logits(self: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    log = _log_sigmoid(self)
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    return reduce_array(_weighted((1 - target) * self - factor * log, weight), reduction)


def _bce_logits_self(g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    s = F.sigmoid(self)
    if pos_weight is None:
        return _scaled(g, _weighted(s - target, weight), reduction)
    weighted = pos_weight * target
    return _scaled(g, _weighted((weighted + 1 - target) * s - weighted, weight), reduction)


def _bce_logits_target(g: Any, self: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    slope = -self if pos_weight is None else -self - (pos_weight - 1) * F.logsigmoid(self)
    return _scaled(g, _weighted(slope, weight), reduction)


function(
    "_bce_with_logits", _bce_logits, node="BinaryCrossEntropyWithLogitsBackward0", promote="",
    tensors="self target weight pos_weight", self=_bce_logits_self, target=_bce_logits_target,
    kinds="f", layout="operands",
)  # fmt: skip

# -- margins over classes: input (N, C) or (C,)


def _class_rows(self: Any, target: Any) -> tuple[Any, Any]:
    return np.reshape(self, (-1, self.shape[-1] if self.ndim else 1)), np.reshape(target, (-1,))


def _margins(self: Any, target: Any, margin: float) -> Any:
    """``margin - x[y] + x[i]`` for all classes but the right one, whose entry is minus infinity."""
    rows = np.arange(len(target))
    out = margin - self[rows, target][:, None] + self
    out[rows, target] = -np.inf
    return out


def _multi_margin(self: Any, target: Any, p: int, margin: float, weight: Any, reduction: str) -> Any:
    x, y = _class_rows(self, target)
    if y.size and (y.min() < 0 or y.max() >= x.shape[1]):
        raise RuntimeError(f"target out of range: classes are 0 to {x.shape[1] - 1}")
    loss = np.maximum(_margins(x, y, margin), 0) ** p
    if weight is not None:
        loss = loss * weight[y][:, None]
    per_row = (np.add.reduce(loss, axis=1) / x.shape[1]).astype(self.dtype)
    return reduce_array(per_row if target.ndim else per_row[0], reduction)


def _one_hot(target: Any, classes: int, like: Any) -> Any:
    """1 at the class of each row."""
    numbers = np.asarray(target._array if hasattr(target, "_array") else target).reshape(-1)
    out = np.zeros((numbers.size, classes), like)
    out[np.arange(numbers.size), numbers] = 1
    return out


def _multi_margin_slope(g: Any, self: Any, target: Any, p: int, margin: float, weight: Any, reduction: str) -> Any:
    """The gradient of ``multi_margin_loss`` with respect to the scores ``(N, C)`` or ``(C,)``."""
    flat = len(self.shape) < 2
    x = F.reshape(self, (1, -1)) if flat else self
    rows, classes = x.shape
    right = _one_hot(target, classes, getattr(self.dtype, "numpy", self.dtype))
    hot = wrap(right) if isinstance(self, TensorBase) else right
    reach = F._sum_dim(-(x * hot), 1, True) + x + margin
    active = F._where((reach > 0) & (hot == 0), reach, F.zeros_like(x))
    slope = 2 * active if p == 2 else F.sgn(active)
    if weight is not None:
        slope = slope * F._sum_dim(hot * weight, 1, True)
    slope = (slope - hot * F._sum_dim(slope, 1, True)) / (classes * (rows if reduction == "mean" else 1))
    slope = F.reshape(slope, tuple(self.shape))
    return slope * (g if flat or reduction != "none" else F.reshape(g, (-1, 1)))


function("_multi_margin_loss", _multi_margin, node="MultiMarginLossBackward0", tensors="self target weight",
         self=_multi_margin_slope, kinds="w")  # fmt: skip


def _multilabel_parts(self: Any, target: Any) -> tuple[Any, Any]:
    """Which classes are targets (listed up to the first -1), and the list with its valid places."""
    y = np.asarray(target._array if hasattr(target, "_array") else target).reshape(-1, target.shape[-1])
    valid = np.cumprod(y >= 0, axis=1).astype(bool)
    wanted = np.zeros(y.shape, bool)
    rows = np.broadcast_to(np.arange(len(y))[:, None], y.shape)
    wanted[rows[valid], y[valid]] = True
    return wanted, valid


def _multilabel_reach(self: Any, target: Any, valid: Any) -> Any:
    """``1 - x[y] + x[i]`` for rows x listed targets x classes."""
    picked = np.take_along_axis(self, np.where(valid, target, 0), 1)
    return 1 - picked[:, :, None] + self[:, None, :]


def _multilabel_active(self: Any, target: Any) -> tuple[Any, Any, Any]:
    x = np.asarray(self._array if hasattr(self, "_array") else self).reshape(-1, self.shape[-1])
    y = np.asarray(target._array if hasattr(target, "_array") else target).reshape(x.shape)
    wanted, valid = _multilabel_parts(self, target)
    reach = _multilabel_reach(x, y, valid)
    return reach, (reach > 0) & valid[:, :, None] & ~wanted[:, None, :], y


def _multilabel_margin(self: Any, target: Any, reduction: str) -> Any:
    reach, active, _ = _multilabel_active(self, target)
    per_row = (np.where(active, reach, 0).sum((1, 2)) / self.shape[-1]).astype(self.dtype)
    return reduce_array(per_row[0] if self.ndim == 1 else per_row, reduction)


def _multilabel_margin_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    _, active, y = _multilabel_active(self, target)
    slope = active.sum(1).astype(getattr(self.dtype, "numpy", self.dtype))
    counts = active.sum(2)
    np.add.at(slope, (np.arange(len(y))[:, None], np.where(counts > 0, y, 0)), -counts)
    slope = slope / (self.shape[-1] * (len(y) if reduction == "mean" else 1))
    slope = slope.reshape(tuple(self.shape)).astype(getattr(self.dtype, "numpy", self.dtype))
    slope = wrap(slope) if isinstance(g, TensorBase) else slope  # piecewise constant: it has no gradient of its own
    return slope * (F.reshape(g, (-1, 1)) if len(g.shape) else g)


function("_multilabel_margin_loss", _multilabel_margin, node="MultilabelMarginLossBackward0", tensors="self target",
         self=_multilabel_margin_slope, kinds="w")  # fmt: skip

# -- distances between rows


def _powers(away: Any, p: float) -> Any:
    size = np.abs(away)
    if p == 0:
        return np.add.reduce(size != 0, axis=-1).astype(away.dtype)
    if p == 1:
        return np.add.reduce(size, axis=-1)
    if p == 2:
        return np.sqrt(np.add.reduce(size * size, axis=-1))
    if np.isinf(p):
        return np.maximum.reduce(size, axis=-1, initial=0)
    return np.add.reduce(size**p, axis=-1) ** (1 / p)


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
    """The gradient over the distance, 0 where there is none."""
    return F._where(result == 0, F.zeros_like(g), g / result)


function(
    "_euclidean_dist", _euclidean_dist, node="EuclideanDistBackward0", promote="",
    x1=lambda g, x1, x2, result: _euclidean_slope(_euclidean_ratio(g, result), x1, x2),
    x2=lambda g, x1, x2, result: _euclidean_slope(F.transpose(_euclidean_ratio(g, result), -2, -1), x2, x1),
    kinds="w",
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


function("_pdist", _pdist, node="PdistBackward0", tensors="self", self=_pdist_slope, keeps="result", kinds="w")


# -- squared differences


def _mse_loss(self: Any, target: Any, reduction: str = "mean") -> Any:
    squares = np.square(self - target)
    if reduction == "none":
        return squares
    return np.add.reduce(squares, axis=None) if reduction == "sum" else np.mean(squares, dtype=squares.dtype)


def _mse_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    difference = self - target
    if reduction == "mean":
        return g * difference * (2.0 / max(int(np.prod(difference.shape)), 1))
    return g * difference * 2.0


function(
    "_mse_loss", _mse_loss, node="MseLossBackward0", promote="common", layout="operands",
    self=_mse_slope, target=lambda g, self, target, reduction: -_mse_slope(g, self, target, reduction), kinds="f",
)  # fmt: skip
