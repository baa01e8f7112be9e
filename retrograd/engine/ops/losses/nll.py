"""Negative log likelihood: input (N, C) or (C,), target (N,) or (); of images (N, C, H, W) and (N, H, W)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.masking import kept
from ...kernels.row_entries import are_classes, picked, placed
from ...kernels.sums import summed, total
from ...table.registry import F
from ...table.rows import function
from ..pointwise.arithmetic import zero_gradient


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
