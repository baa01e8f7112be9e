"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Weights of four dimensions in a memory format, for all convolutions in a module."""
    return _converted(module, memory_format, 4)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Weights of five dimensions in a memory format, for all convolutions in a module."""
    return _converted(module, memory_format, 5)


def _converted(module: Any, memory_format: Any, dimensions: int) -> Any:
    for each in module.modules():
        weight = each._parameters.get("weight")
        if hasattr(each, "_conv_forward") and weight is not None and weight.dim() == dimensions:
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module
