"""``torch.distributions.utils``: probabilities and log odds, and parameters of one shape."""

from __future__ import annotations

from typing import Any

from .matrix_transforms import tril_matrix_to_vec, vec_to_tril_matrix
from .parameters import broadcast_all, clamped, lazy_property, logits_of, probs_of


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log odds, or of unnormalised logarithms along the last dimension."""
    return probs_of(logits, is_binary)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log odds of probabilities (``is_binary``), or logarithms of those of several categories."""
    return logits_of(probs, is_binary)


clamp_probs = clamped

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip
