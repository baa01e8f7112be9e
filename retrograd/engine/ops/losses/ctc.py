"""Connectionist temporal classification as one row, as PyTorch has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ctc import backward_scores, by_class, forward_scores, label_rows, log_likelihoods
from ...table.registry import F
from ...table.rows import function, no_forward_mode, underivable


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
