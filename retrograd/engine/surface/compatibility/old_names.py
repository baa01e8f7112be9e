"""Old names: tensor types such as ``FloatTensor``, ``resize``, and methods of PyTorch that are absent."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.argument_checks import refuse_other_device
from ...core.base import TensorBase, wrap
from ...core.size import Size
from ...function.function import Function
from ...table.public import METHODS, PROPERTIES, public
from ...warning import warn

# Tensor methods of PyTorch that do not exist here: using one raises an error that names alternatives.

_INSTEAD = {
    "there is only the CPU, use the tensor itself": "hpu ipu mtia xpu pin_memory record_stream to_mkldnn",
    "NumPy has no such dtype, use float16 or float32": "chalf",
    "of sparse tensors only COO and CSR are here (to_sparse, to_sparse_csr)": (
        "to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_resize_ "
        "sparse_resize_and_clear_ ccol_indices row_indices to_padded_tensor"
    ),
    "there is no quantization": (
        "dequantize int_repr q_scale q_zero_point q_per_channel_axis q_per_channel_scales q_per_channel_zero_points "
        "qscheme"
    ),
    "": "const_data_ptr resize_as_sparse_ slice_inverse storage_type",
    "PyTorch has removed it": "reinforce",
}


def _absent(name: str, why: str) -> Callable[[Any], Any]:
    def ask(self: Any) -> Any:
        near = difflib.get_close_matches(name, METHODS, 3, 0.7)
        hint = "".join([f"; {why}" if why else "", f"; the nearest names are {', '.join(near)}" if near else ""])
        raise AttributeError(f"'Tensor' object has no attribute '{name}'{hint}")

    return ask


for _why, _names in _INSTEAD.items():
    for _absent_name in _names.split():
        if _absent_name not in METHODS:
            PROPERTIES[_absent_name] = _absent(_absent_name, _why)

_UNLISTED = {name for names in _INSTEAD.values() for name in names.split() if name not in METHODS} | {"volatile"}


def listed(self: Any) -> list[str]:
    """The names that ``dir`` gives: of what is there."""
    return sorted(set(object.__dir__(self)) - _UNLISTED)


METHODS["__dir__"] = listed


# `Resize`: the deprecated Function that changes a tensor's shape.


class Resize(Function):
    """``Resize.apply(tensor, sizes)``: the same elements in another shape; ``RuntimeError`` if their number differs."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """Reshape, remembering the old shape."""
        count = math.prod(sizes)
        if count != tensor.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor "
                f"has a size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). autograd's resize can "
                "only change the shape of a given tensor, while preserving the number of elements."
            )
        ctx.input_sizes = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Back to the old shape."""
        return grad.contiguous().view(*ctx.input_sizes), None


# The old tensor types (`FloatTensor` …): constructors, and classes for `isinstance` by dtype.


class _OldType(type):
    """Every tensor of the dtype counts as an instance, although none is made by the class itself."""

    numpy: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TensorBase) and value._sig.numpy == cls.numpy

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        refuse_other_device(device)
        if not data:
            return wrap(np.zeros((0,), cls.numpy))
        first = data[0]
        if len(data) == 1 and not isinstance(first, (int, Size)):
            if isinstance(first, (float, complex, str)):
                raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
            return wrap(np.array(first._array if isinstance(first, TensorBase) else first, dtype=cls.numpy))
        return wrap(np.zeros(tuple(first) if isinstance(first, Size) else data, cls.numpy))

    @property
    def dtype(cls) -> Any:
        """The dtype of tensors made by this type."""
        return wrap(np.zeros((), cls.numpy))._sig.dtype


for _name, _numpy in {
    "Half": np.float16, "Float": np.float32, "Double": np.float64, "Char": np.int8, "Short": np.int16, "Int": np.int32,
    "Long": np.int64, "Byte": np.uint8, "Bool": np.bool_,
}.items():  # fmt: skip
    public(_name + "Tensor", method=False)(
        _OldType(_name + "Tensor", (), {"numpy": np.dtype(_numpy), "__doc__": "Old type: makes tensors of its dtype."})
    )


# `x.resize(3, 2)`: the old name of `reshape` for tensors of the same number of elements.


@public("resize", function=False)
def resize(self: Any, *sizes: Any) -> Any:
    """The same elements in another shape; warns that ``reshape`` is meant."""
    warn("non-inplace resize is deprecated")
    return Resize.apply(self, sizes)


@public("resize_as", function=False)
def resize_as(self: Any, tensor: Any) -> Any:
    """``self.resize(*tensor.size())``; warns that ``reshape_as`` is meant."""
    warn("non-inplace resize_as is deprecated")
    return Resize.apply(self, tuple(tensor.shape))
