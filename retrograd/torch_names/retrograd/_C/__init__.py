"""The parts of ``torch._C`` that autograd programs use: re-exports only."""

from __future__ import annotations

import importlib
from typing import Any

from ..engine.core.base import TensorBase
from ..engine.execution.introspection import current_graph_task_id as _current_graph_task_id
from ..engine.execution.introspection import current_node as _current_autograd_node
from ..engine.execution.introspection import execution_order as _current_graph_task_execution_order
from ..engine.execution.introspection import will_execute as _will_engine_execute_node
from ..engine.forward_mode.forward_ad import _is_fwd_grad_enabled, _set_fwd_grad_enabled
from ..engine.nodes.internals import _set_grad_enabled, _WeakTensorRef
from ..engine.overriding.dispatch_classes import DisableTorchDispatch as _DisableTorchDispatch
from ..engine.overriding.dispatch_classes import disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from ..engine.overriding.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from ..engine.overriding.overrides import disabled_torch_function_impl as _disabled_torch_function_impl
from ..engine.random import Generator
from ..engine.rules.matrix_checks import _LinAlgError
from ..engine.switches.engine_switches import is_grad_layout_enforced as _is_grad_layout_enforcement_enabled
from ..engine.switches.engine_switches import is_multithreading_enabled as _is_multithreading_enabled
from ..engine.switches.modes import is_grad_enabled

_MODULES = ("_autograd", "_functions")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'retrograd._C' has no attribute '{name}'")


__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "TensorBase",
    "_DisableTorchDispatch", "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl",
    "_LinAlgError", "_WeakTensorRef",
    "_current_autograd_node", "_current_graph_task_execution_order", "_current_graph_task_id",
    "_is_fwd_grad_enabled", "_is_grad_layout_enforcement_enabled", "_is_multithreading_enabled",
    "_set_fwd_grad_enabled", "_set_grad_enabled", "_will_engine_execute_node", "is_grad_enabled",
]  # fmt: skip
