"""Losses by margins between classes: input (N, C) or (C,)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.sums import summed
from ...table.registry import F
from ...table.rows import function
from ...tensors.base import TensorBase, wrap
from ...tensors.dtypes import numpy_dtype_of
from .losses import reduce_array


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
    per_row = (summed(loss, (1,)) / x.shape[1]).astype(self.dtype)
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
    right = _one_hot(target, classes, numpy_dtype_of(self))
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


def _classes(scores: Any) -> int:
    return int(scores.shape[-1]) if len(scores.shape) else 1


def _multilabel_parts(self: Any, target: Any) -> tuple[Any, Any]:
    """Which classes are targets (listed up to the first -1), and the list with its valid places."""
    y = np.asarray(target._array if hasattr(target, "_array") else target).reshape(-1, _classes(target))
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
    x = np.asarray(self._array if hasattr(self, "_array") else self).reshape(-1, _classes(self))
    y = np.asarray(target._array if hasattr(target, "_array") else target).reshape(x.shape)
    wanted, valid = _multilabel_parts(self, target)
    reach = _multilabel_reach(x, y, valid)
    return reach, (reach > 0) & valid[:, :, None] & ~wanted[:, None, :], y


def _multilabel_margin(self: Any, target: Any, reduction: str) -> Any:
    reach, active, _ = _multilabel_active(self, target)
    per_row = (summed(np.where(active, reach, reach.dtype.type(0)), (1, 2)) / _classes(self)).astype(self.dtype)
    return reduce_array(per_row[0] if self.ndim < 2 else per_row, reduction)


def _multilabel_margin_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    _, active, y = _multilabel_active(self, target)
    slope = active.sum(1).astype(numpy_dtype_of(self))
    counts = active.sum(2)
    np.add.at(slope, (np.arange(len(y))[:, None], np.where(counts > 0, y, 0)), -counts)
    slope = slope / (_classes(self) * (len(y) if reduction == "mean" else 1))
    slope = slope.reshape(tuple(self.shape)).astype(numpy_dtype_of(self))
    slope = wrap(slope) if isinstance(g, TensorBase) else slope  # piecewise constant: it has no gradient of its own
    return slope * (F.reshape(g, (-1, 1)) if len(g.shape) else g)


def _is_target(self: Any, target: Any) -> Any:
    return _multilabel_parts(self, target)[0].reshape(target.shape).astype(self.dtype)


function("_multilabel_margin_loss", _multilabel_margin, node="MultilabelMarginLossBackward0", tensors="self target",
         self=_multilabel_margin_slope, kinds="w", for_hooks={"is_target": _is_target})  # fmt: skip
