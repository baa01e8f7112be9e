"""``fake_quantize_per_tensor_affine`` and ``fake_quantize_per_channel_affine``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse, refuse_kind
from ....core.base import TensorBase
from ....core.dtypes import scalar_name
from ....core.registry import F
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim


def _check(x: Any, zero_point: Any, quant_min: int, quant_max: int) -> None:
    refuse_kind("fake_quantize_tensor_cachemask_kernel_type_handling", x._sig.numpy, "f")
    refuse(quant_min > quant_max, "`quant_min` should be less than or equal to `quant_max`.")
    outside = (zero_point < quant_min) | (zero_point > quant_max)
    refuse(bool(np.any(outside)), "`zero_point` must be between `quant_min` and `quant_max`.")


@public("fake_quantize_per_tensor_affine", method=False)
def fake_quantize_per_tensor_affine(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int  # noqa: A002
) -> Any:  # fmt: skip
    """Values rounded to multiples of ``scale`` and cut off at the limits, which count such multiples."""
    check_tensor("fake_quantize_per_tensor_affine", input)
    if isinstance(scale, TensorBase):
        offset, factor = zero_point._array.item(), scale._array.item()
        _check(input, offset, quant_min, quant_max)
        return F._FakeQuantizePerTensorAffineCachemaskTensorQparams(input, factor, offset, quant_min, quant_max)
    _check(input, zero_point, quant_min, quant_max)
    return F._FakeQuantizePerTensorAffineCachemask(input, scale, zero_point, quant_min, quant_max)


@public("fake_quantize_per_channel_affine", method=False)
def fake_quantize_per_channel_affine(
    input: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int  # noqa: A002
) -> Any:  # fmt: skip
    """As per tensor, with a scale and a zero point for each entry of dimension ``axis``."""
    check_tensor("fake_quantize_per_channel_affine", input)
    found, offsets = scale._sig.numpy, zero_point._sig.numpy
    refuse(found != np.float32, f"Scale must be Float or BFloat16, found {scalar_name(found)}")
    refuse(
        offsets.name not in ("int32", "float32", "float16"),
        f"Zero-point must be Int32, Float or Half, found {scalar_name(offsets)}",
    )
    refuse(checked_dim(axis, input.ndim) != axis, "`axis` must be between 0 and number of dimensions of input")
    refuse(
        not tuple(scale.shape) == tuple(zero_point.shape) == (input.shape[axis],),
        "dimensions of scale and zero-point are not consistent with input tensor",
    )
    _check(input, zero_point._array, quant_min, quant_max)
    shape = [1] * input.ndim
    shape[axis] = -1
    scales, offset = scale._array.reshape(shape), zero_point._array.reshape(shape)
    return F._FakeQuantizePerChannelAffineCachemask(input, scales, offset, quant_min, quant_max)
