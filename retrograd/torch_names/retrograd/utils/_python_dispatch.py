"""``torch.utils._python_dispatch``: re-exports of ``retrograd.engine.overriding``."""

from ..engine.overriding.dispatch_modes import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
)
from ..engine.overriding.subclasses import (
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
    return_and_correct_aliasing,
    transform_subclass,
)

__all__ = [
    "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode", "_get_current_dispatch_mode_stack",
    "_pop_mode_temporarily", "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing", "transform_subclass",
]  # fmt: skip
