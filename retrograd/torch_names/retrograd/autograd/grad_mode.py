"""``torch.autograd.grad_mode``: re-exports only."""

from ..engine.switches.engine_switches import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enforce_grad_layout_policy,
    set_multithreading_enabled,
)
from ..engine.switches.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "_force_original_view_tracking", "_unsafe_preserve_version_counter", "enable_grad",
    "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip
