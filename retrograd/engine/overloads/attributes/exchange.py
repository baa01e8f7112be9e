"""DLPack: tensors and the arrays of other libraries in the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.owners import share
from ...aliasing.views import requires_grad
from ...table.public import FUNCTIONS, public
from ...tensors.base import TensorBase
from ...tensors.bits import bits_of


@public("__dlpack__", function=False)
def dlpack(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """The memory as a capsule, for ``from_dlpack`` of any library; refused where a gradient would be lost."""
    if requires_grad(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if bits_of(self):
        raise BufferError("Can't export tensors with the conjugate bit set, use tensor.resolve_conj()")
    share(self._array)
    return self._array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@public("__dlpack_device__", function=False)
def dlpack_device(self: Any) -> Any:
    """The CPU, as DLPack numbers devices."""
    return self._array.__dlpack_device__()


@public("from_dlpack", method=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor in the memory of what another library made (of a tensor: an alias)."""
    if isinstance(ext_tensor, TensorBase):
        dlpack(ext_tensor)
        return ext_tensor.clone() if copy else ext_tensor.detach()
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            f"from_dlpack received an invalid capsule: {type(ext_tensor).__name__} has no __dlpack__; pass the tensor "
            "or the array itself"
        )
    return FUNCTIONS["from_numpy"](np.from_dlpack(ext_tensor, copy=copy))
