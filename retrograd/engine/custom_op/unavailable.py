"""Names of ``torch.library`` that cannot work here: calling one raises an error that says why and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_LEAVE_OUT = "Leave the registration out: the operator works without it."
_BY_DEVICE = "Register a kernel for each device with Library.impl or register_kernel."
_IN_PYTHON = "Declare the operator with custom_op and compute on tensors or their NumPy arrays."
_REASONS = {
    "register_autocast": ("autocast never changes a dtype here", _LEAVE_OUT),
    "register_torch_dispatch": ("a class with __torch_dispatch__ is asked itself about every operator", _LEAVE_OUT),
    "register_effect": ("no compiler is there that could reorder calls", _LEAVE_OUT),
    "triton_op": ("there is no Triton", _IN_PYTHON),
    "wrap_triton": ("there is no Triton", _IN_PYTHON),
    "fallthrough_kernel": ("kernels are found by device, not along a chain of dispatch keys", _BY_DEVICE),
    "get_kernel": ("kernels are found by device, not by dispatch key", "Call the operator."),
}
"""Name -> why it is missing, and what to do."""


def unavailable(name: str) -> Callable[..., Any]:
    """The function or method of this name, which raises ``NotImplementedError`` whatever it is given."""
    reason, remedy = _REASONS[name]

    def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not available in retrograd: {reason}. {remedy}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not available: {reason}."
    return refuse
