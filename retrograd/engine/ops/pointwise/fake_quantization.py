"""Fake quantization: rounds values as if to scaled integers; gradients pass where nothing was clamped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.rows import elementwise


def _steps(self: Any, scale: Any, zero_point: Any) -> Any:
    """How many steps of ``scale`` each value is away from what ``zero_point`` stands for; the scale is a float32."""
    return zero_point + np.rint(self * (np.float32(1) / np.asarray(scale, np.float32)))


def _fake_quantized(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """The values that whole steps stand for, of as many steps as fit between the limits, and where they did fit.

    NaN counts as the lower limit.
    """
    steps = _steps(self, scale, zero_point)
    fitting = np.fmin(np.fmax(steps, quant_min), quant_max)
    factor = np.asarray(scale, np.float32)
    wide = self.dtype if factor.ndim else np.float32  # PyTorch's kernel for one scale multiplies in single precision
    values = ((fitting - zero_point).astype(wide) * factor).astype(self.dtype)
    return values, (steps >= quant_min) & (steps <= quant_max)


def _passed(g: Any, mask: Any) -> Any:
    return g * mask


for _how in ("PerTensorAffineCachemask", "PerTensorAffineCachemaskTensorQparams", "PerChannelAffineCachemask"):
    elementwise(
        f"_FakeQuantize{_how}", _fake_quantized, node=f"FakeQuantize{_how}Backward0", tensors="self", public=False,
        aux=("mask",), self=_passed, kinds="f",
    )  # fmt: skip
