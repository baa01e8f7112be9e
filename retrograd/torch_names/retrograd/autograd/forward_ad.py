"""``torch.autograd.forward_ad``: re-exports only."""

from __future__ import annotations

from typing import Any

from ..engine.forward_mode import forward_ad as _engine
from ..engine.forward_mode.forward_ad import (
    UnpackedDualTensor,
    _is_fwd_grad_enabled,
    _set_fwd_grad_enabled,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # changes while the program runs
        return _engine.current_level()
    raise AttributeError(f"module 'retrograd.autograd.forward_ad' has no attribute '{name}'")


__all__ = [
    "UnpackedDualTensor", "_is_fwd_grad_enabled", "_set_fwd_grad_enabled", "dual_level", "enter_dual_level",
    "exit_dual_level", "make_dual", "unpack_dual",
]  # fmt: skip
