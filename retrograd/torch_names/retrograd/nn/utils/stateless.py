"""``torch.nn.utils.stateless``: the older name of ``torch.func.functional_call``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ...engine.warning import warn
from ..module import Module
from .replaced_state import functional_call as _functional_call
from .replaced_state import replaced, together


def functional_call(
    module: Module, parameters_and_buffers: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``torch.func.functional_call``, with a warning that this name will go."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    given = (module, parameters_and_buffers, args, kwargs)
    return _functional_call(*given, tie_weights=tie_weights, strict=strict)


def _reparametrize_module(
    module: Module, parameters_and_buffers: Any, tie_weights: bool = False, strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:  # fmt: skip
    """The module with other tensors until the block ends."""
    return replaced(module, together(parameters_and_buffers), tie_weights, strict)


__all__ = ["functional_call"]
