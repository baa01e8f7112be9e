"""Connectionist temporal classification: what labels and lengths must be, and the reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....table.public import NN, check_tensor, public
from ....table.registry import F
from ....tensors.base import TensorBase, wrap
from ....tensors.dtype_names import scalar_name
from .losses import reduction_of


def _lengths(name: str, values: Any, batch: int, most: int | None = None) -> Any:
    """Lengths as an array, one for each sequence of the batch."""
    found = np.asarray(values._array if isinstance(values, TensorBase) else values).reshape(-1)
    if found.size and found.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size: {len(found)} lengths for {batch} sequences")
    if found.size and found.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {found.min()}")
    if most is not None and found.size and found.max() > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {found.max()} (while checking arguments for "
            "ctc_loss_cpu)"
        )
    return found.astype(np.int64)


def _check_labels(targets: Any, lengths: Any, blank: int, classes: int) -> None:
    """``RuntimeError`` unless the blank is a class and the targets are as long as their lengths say."""
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range, 0 to {classes - 1}, but got {blank}")
    if targets.ndim == 1:
        need, dim, fits = int(lengths.sum()), 0, targets.shape[0] == lengths.sum()
    else:
        need, dim = int(lengths.max(initial=0)), 1
        fits = targets.ndim == 2 and targets.shape[0] == len(lengths) and targets.shape[1] >= need
    if not fits:
        raise RuntimeError(
            f"Expected tensor to have size {'at least ' * dim}{need} at dimension {dim}, but got sizes "
            f"{list(targets.shape)} for argument #2 'targets' (while checking arguments for ctc_loss_cpu)"
        )


@public("ctc_loss", namespace=NN)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """Negative log probability of the targets, summed over all alignments (A. Graves et al., ICML 2006).

    ``log_probs`` is ``(T, N, C)`` or ``(T, C)``; targets are ``(N, S)`` or joined in one row.  As in PyTorch, the
    gradient is that of log probabilities that come from a ``log_softmax``.
    """
    reduction = reduction_of(reduction, None, None)
    check_tensor("ctc_loss", log_probs, name="log_probs")
    check_tensor("ctc_loss", targets, 2, "targets")
    if log_probs._sig.numpy.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{scalar_name(log_probs._sig.numpy)}'")
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    single = log_probs.ndim == 2
    logs = F.unsqueeze(log_probs, 1) if single else log_probs
    if logs.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {logs.ndim}-dimensional tensor for argument #1 'log_probs' (while "
            "checking arguments for ctc_loss_allocate_outputs)"
        )
    time, batch, classes = logs.shape
    steps = _lengths("input_lengths", input_lengths, batch, time)
    lengths = _lengths("target_lengths", target_lengths, batch)
    _check_labels(targets, lengths, blank, classes)
    loss = F._ctc_loss(logs, targets, steps, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = F._where(F.isposinf(loss.detach()), F.zeros_like(loss), loss)
    if reduction == "mean":
        return (loss / wrap(np.maximum(lengths, 1).astype(loss._sig.numpy)).to(loss.device)).mean()
    return loss.sum() if reduction == "sum" else loss[0] if single else loss
