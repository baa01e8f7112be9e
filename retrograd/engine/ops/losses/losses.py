"""Losses element by element, with their reduction: differences and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.halves import rounded_once
from ...kernels.sums import summed
from ...rules.backward_operators import backward_operator
from ...rules.by_number import over
from ...rules.half_slopes import slope_rounded_once
from ...table.registry import F
from ...table.rows import function
from ..reductions.reduce import mean_of


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
