"""``torch.autograd``: re-exports only."""

from __future__ import annotations

import importlib
from typing import Any

from ..engine.devices.device_types import DeviceType
from ..engine.execution.backward import backward, grad
from ..engine.execution.root_gradients import shapes_of as _calculate_shape
from ..engine.function.function import Function, NestedIOFunction
from ..engine.nodes.saved import SavedTensor
from ..engine.overriding.wrappers import make_overridable as _make_overridable
from ..engine.profiling.profile import _profiler_enabled
from ..engine.profiling.steps import ProfilerActivity, kineto_available
from ..engine.switches.anomaly import detect_anomaly, set_detect_anomaly
from ..engine.switches.engine_switches import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enforce_grad_layout_policy,
    is_multithreading_enabled,
    is_view_replay_enabled,
    set_multithreading_enabled,
)
from ..engine.switches.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ..engine.tensors.parameter import Variable

# As in PyTorch the function hides the module of the same name, which stays importable.
from .gradcheck import gradcheck, gradgradcheck

_MODULES = (
    "_functions", "anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "profiler",
    "profiler_util", "variable",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "torch":  # torch.autograd.torch is torch
        return importlib.import_module("retrograd")
    raise AttributeError(f"module 'retrograd.autograd' has no attribute '{name}'")


_make_overridable(globals(), "torch.autograd", ["backward", "grad"])

__all__ = [
    "DeviceType", "Function", "NestedIOFunction", "ProfilerActivity", "SavedTensor", "Variable", "_calculate_shape",
    "_force_original_view_tracking", "_profiler_enabled", "_unsafe_preserve_version_counter", "backward",
    "detect_anomaly",
    "enable_grad", "enforce_grad_layout_policy", "grad", "gradcheck", "gradgradcheck", "inference_mode",
    "is_multithreading_enabled", "is_view_replay_enabled", "kineto_available", "no_grad", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip
