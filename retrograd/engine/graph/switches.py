"""PyTorch's settings for GPUs and compiled regions: accepted and checked, without effect here."""

from __future__ import annotations

from typing import Any


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Nothing to warn of: there are no streams on the CPU."""
    _check_switch(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Nothing to override: there is no capture on the CPU."""
    _check_switch(enabled)


def _check_switch(enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def region_activation_memory_budget(budget: Any) -> Any:
    """Only for compiled regions, which do not exist here.

    Raises ``TypeError`` for a non-number, ``ValueError`` outside of [0, 1], else ``RuntimeError``.
    """
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"region_activation_memory_budget expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"region_activation_memory_budget must be in [0, 1], got {budget}")
    raise RuntimeError(
        "region_activation_memory_budget can only be used inside a torch.compile region, and there is none in "
        "retrograd; use utils.checkpoint.checkpoint to save memory instead"
    )
