"""``torch.nn.modules.module``: ``Module``, and hooks that are called for every module there is."""

from ..hooked import (
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

__all__ = [
    "Module", "register_module_backward_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_parameter_registration_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
]  # fmt: skip
