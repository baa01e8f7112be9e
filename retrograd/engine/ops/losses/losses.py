"""Losses of elements and of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.base import TensorBase, wrap
from ...core.dtypes import numpy_dtype_of
from ...core.registry import F
from ...kernels.ctc import backward_scores, by_class, forward_scores, label_rows, log_likelihoods
from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...rules.backward_operators import backward_operator
from ...rules.by_number import over
from ...rules.half_slopes import slope_rounded_once
from ...table.rows import function, no_forward_mode, underivable
from ..reductions.reduce import mean_of

# Losses element by element, with their reduction: differences and probabilities.


def reduce_array(values: Any, reduction: str) -> Any:
    """A loss per element as asked: ``"none"``, ``"sum"`` or ``"mean"``."""
    if reduction == "none":
        return values
    return summed(values) if reduction == "sum" else mean_of(values, None, False, None)


def count(sizes: Any) -> int:
    """How many elements a shape has."""
    return int(np.prod(tuple(sizes)))


def _scaled(g: Any, slope: Any, reduction: str) -> Any:
    return over(slope * g, count(slope.shape)) if reduction == "mean" else slope * g


_REDUCTIONS: dict[str, Any] = {"none": lambda t: t, "sum": lambda t: F.sum(t), "mean": lambda t: F.mean(t)}


def _reduced_tangent(slope: Any) -> Any:
    """The forward-mode rule of a loss of differences: tangents are reduced as the loss is, those of nothing as well."""

    def rule(primal: Any, tangents: Any, results: Any) -> Any:
        self, target, reduction, *shape = primal
        away = tangents[0] if 0 in tangents else -tangents[1]
        away = away - tangents[1] if len(tangents) > 1 else away
        return _REDUCTIONS[reduction](slope(away, self, target, "none", *shape))

    return rule


# -- differences


def _smooth_l1(self: Any, target: Any, reduction: str, beta: float) -> Any:
    size = np.abs(self - target)
    inner = 0.5 * size * size / beta if beta else size
    return reduce_array(np.where(size < beta, inner, size - 0.5 * beta).astype(size.dtype), reduction)


@slope_rounded_once
def _smooth_l1_slope(g: Any, self: Any, target: Any, reduction: str, beta: float) -> Any:
    away = self - target
    inner = away / beta if beta else away
    return _scaled(g, F._where(F.abs(away) >= beta, F.sgn(away), inner), reduction)


def _huber(self: Any, target: Any, reduction: str, delta: float) -> Any:
    return reduce_array(_huber_of_each(self, target, delta), reduction)


@rounded_once(operands=2)
def _huber_of_each(self: Any, target: Any, delta: float) -> Any:
    size = np.abs(self - target)
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


@slope_rounded_once
def _huber_slope(g: Any, self: Any, target: Any, reduction: str, delta: float) -> Any:
    away = self - target
    return _scaled(g, F._where(F.abs(away) >= delta, delta * F.sgn(away), away), reduction)


_smooth_l1_back = backward_operator("smooth_l1_loss", _smooth_l1_slope, "self target")
_huber_back = backward_operator("huber_loss", _huber_slope, "self target")
function(
    "_smooth_l1_loss", _smooth_l1, node="SmoothL1LossBackward0", promote="common", self=_smooth_l1_back,
    target=lambda g, self, target, reduction, beta: _smooth_l1_back(g, target, self, reduction, beta),
    jvp=_reduced_tangent(_smooth_l1_slope), kinds="f", layout="operands",
)  # fmt: skip
function(
    "_huber_loss", _huber, node="HuberLossBackward0", promote="common", self=_huber_back,
    target=lambda g, self, target, reduction, delta: _huber_back(g, target, self, reduction, delta),
    jvp=_reduced_tangent(_huber_slope), kinds="f", layout="operands",
)  # fmt: skip


def _soft_margin(self: Any, target: Any, reduction: str) -> Any:
    return reduce_array(np.log1p(np.exp(-target * self)), reduction)  # (large margins overflow, in PyTorch as well)


def _soft_margin_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    z = F.exp(-target * self)
    return _scaled(g, -target * (z / (z + 1)), reduction)


function(
    "_soft_margin_loss", _soft_margin, node="SoftMarginLossBackward0", tensors="self target", promote="common",
    self=backward_operator("soft_margin_loss", _soft_margin_slope, constant="target"), kinds="fc",
    real_only="soft_margin_loss", layout="operands",
)  # fmt: skip


# -- squared differences


def _mse_loss(self: Any, target: Any, reduction: str = "mean") -> Any:
    return reduce_array(np.square(self - target), reduction)


def _mse_slope(g: Any, self: Any, target: Any, reduction: str) -> Any:
    difference = self - target
    if reduction == "mean":
        return g * difference * (2.0 / max(int(np.prod(difference.shape)), 1))
    return g * difference * 2.0


def _mse_curvature(
    g: Any, needs: tuple[bool, ...], grad_output: Any, self: Any, target: Any, reduction: str
) -> tuple[Any, ...]:
    """Gradients of an incoming gradient, self and target by that of the slope, which is linear in each of them."""
    into_grad = _mse_slope(g, self, target, reduction) if needs[0] else None
    if not (needs[1] or needs[2]):
        return into_grad, None, None
    factor = 2.0 / max(count(g.shape), 1) if reduction == "mean" else 2.0
    by_self = g * grad_output * factor
    return into_grad, by_self if needs[1] else None, -by_self if needs[2] else None


_mse_back = backward_operator("mse_loss", _mse_slope, "self target", derived=_mse_curvature)
function(
    "_mse_loss", _mse_loss, node="MseLossBackward0", promote="common", layout="operands",
    self=_mse_back, target=lambda g, self, target, reduction: _mse_back(g, target, self, reduction), kinds="f",
    jvp=_reduced_tangent(_mse_slope),
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
         self=backward_operator("binary_cross_entropy", _bce_self, "self target", constant="weight"),
         target=_bce_target, kinds="f", layout="operands")  # fmt: skip


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


# Losses by margins between classes: input (N, C) or (C,).


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


# Connectionist temporal classification as one row, as PyTorch has it.


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> tuple[Any, Any]:
    """Negative log likelihood of each row of labels, and the scores of the forward recursion."""
    labels = label_rows(targets, target_lengths, blank)
    alpha = forward_scores(log_probs, labels, target_lengths, blank)
    return -log_likelihoods(alpha, input_lengths, target_lengths), alpha.swapaxes(0, 1)


def _ctc_loss_backward(
    grad: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, losses: Any, alpha: Any,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """PyTorch's gradient: the one for probabilities that come from a softmax, whose own gradient keeps it as it is.

    It is ``exp(log_probs)`` more than the derivative by ``log_probs`` as free variables.
    """
    labels = label_rows(targets, target_lengths, blank)
    beta = backward_scores(log_probs, labels, input_lengths, target_lengths, blank)
    through = by_class(alpha.swapaxes(0, 1) + beta, labels, log_probs.shape[2])
    slope = (np.exp(log_probs) - np.exp(through + losses[:, None] - log_probs)) * grad[:, None]
    if zero_infinity:
        slope = np.where(np.isposinf(losses)[:, None], 0, slope)
    running = np.arange(len(log_probs))[:, None, None] < input_lengths[:, None]
    return np.where(running, slope, 0).astype(log_probs.dtype)


function(
    "_ctc_loss", _ctc_loss, node="CtcLossBackward0", tensors="log_probs targets", results="result0 result1",
    nondiff=(1,), kinds="f",
    log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, result0, result1: (
        F._ctc_loss_backward(
            g[0], log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
        )
    ),
    jvp=no_forward_mode("_ctc_loss"),
)  # fmt: skip
underivable("_ctc_loss_backward", _ctc_loss_backward, tensors="grad log_probs targets losses alpha")
