"""Layers made without starting their weights, and weights of convolutions in another memory format."""

from __future__ import annotations

import inspect
from typing import Any


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters have not been given values."""
    if not hasattr(module_cls, "to_empty"):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=final)


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
