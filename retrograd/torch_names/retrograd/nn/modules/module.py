"""``torch.nn.modules.module``: ``Module``, and hooks that are called for every module there is."""

from ..hooked import (
    _GLOBAL,
    _REGISTRATION,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..module import Module
from ..module_state import _IncompatibleKeys as _IncompatibleKeys

_global_forward_pre_hooks, _global_forward_hooks = _GLOBAL["_forward_pre_hooks"], _GLOBAL["_forward_hooks"]
_global_backward_pre_hooks, _global_backward_hooks = _GLOBAL["_backward_pre_hooks"], _GLOBAL["_backward_hooks"]
_global_parameter_registration_hooks = _REGISTRATION["_parameters"]
_global_buffer_registration_hooks = _REGISTRATION["_buffers"]
_global_module_registration_hooks = _REGISTRATION["_modules"]

__all__ = [
    "Module", "register_module_backward_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_parameter_registration_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
]  # fmt: skip
