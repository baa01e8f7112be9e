"""The face of ``torch.nn``: ``Module``, ``Parameter``, the layers of small programs, and ``functional``."""

from __future__ import annotations

import importlib
from typing import Any

from ..engine.tensors.parameter import Parameter
from .layers import Dropout, Identity, Linear, ModuleList, ReLU, Sequential, Sigmoid, Tanh
from .module import Module
from .recurrent import GRU, LSTM, RNN


def __getattr__(name: str) -> Any:
    if name in ("functional", "utils"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module 'retrograd.nn' has no attribute '{name}'; it has Module, Parameter, {', '.join(_LAYERS)}, and "
        "everything else as functions in nn.functional"
    )


_LAYERS = (
    "Dropout", "GRU", "Identity", "LSTM", "Linear", "ModuleList", "RNN", "ReLU", "Sequential", "Sigmoid", "Tanh",
)  # fmt: skip
__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Dropout",
    "Identity",
    "Linear",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
]
