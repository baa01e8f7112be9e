"""The face of ``torch.nn.utils``: clipped gradients, parameters as vectors or computed from others, sequences."""

from __future__ import annotations

import importlib
from typing import Any

from . import clip_grad, convert_parameters, rnn, stateless
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

_LATER = ("parametrize", "parametrizations", "prune")
"""Rooms over the layers, which stand above this package: loaded on first use."""
_FROM_LATER = {
    "remove_weight_norm": "weight_hooks", "weight_norm": "weight_hooks",
    "remove_spectral_norm": "spectral_hook", "spectral_norm": "spectral_hook",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FROM_LATER:
        return getattr(importlib.import_module(f"{__name__}.{_FROM_LATER[name]}"), name)
    raise AttributeError(f"module 'retrograd.nn.utils' has no attribute '{name}'")


__all__ = [
    "clip_grad", "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_parameters", "get_total_norm", "parameters_to_vector", "rnn", "stateless", "vector_to_parameters",
]  # fmt: skip
