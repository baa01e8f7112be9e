"""``torch.nn.utils``: clipped gradients, parameters as vectors or computed from others, sequences."""

from __future__ import annotations

import importlib
from typing import Any

from . import clip_grad, convert_parameters, fusion, rnn, stateless
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .init import skip_init
from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format

_LATER = ("parametrize", "parametrizations", "prune")
"""Submodules that use layers, and so import this package: loaded on first use."""
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
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "convert_parameters",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "fusion",
    "get_total_norm", "parameters_to_vector", "rnn", "skip_init", "stateless", "vector_to_parameters",
]  # fmt: skip
