"""DLPack: shares memory between tensors and arrays of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import observe
from ...aliasing.owners import share
from ...aliasing.views import requires_grad
from ...core.base import TensorBase
from ...core.bits import bits_of
from ...table.public import FUNCTIONS, public


@public("__dlpack__", function=False)
def dlpack(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """The memory as a capsule, for ``from_dlpack`` of any library; refused where a gradient would be lost."""
    if requires_grad(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if bits_of(self):
        raise BufferError("Can't export tensors with the conjugate bit set, use tensor.resolve_conj()")
    if stream is not None:
        raise AssertionError("stream should be None on cpu.")
    return _handed_out(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def _handed_out(self: Any, **asked: Any) -> Any:
    share(self._array)
    if observe.observers:
        observe.notify("cut", "dlpack", self, self._array)
    return self._array.__dlpack__(**asked)


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
    if type(ext_tensor).__name__ == "PyCapsule":
        return FUNCTIONS["from_numpy"](_array_of(ext_tensor))
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            f"from_dlpack received an invalid capsule: {type(ext_tensor).__name__} has no __dlpack__; pass the tensor "
            "or the array itself"
        )
    return FUNCTIONS["from_numpy"](np.from_dlpack(ext_tensor, copy=copy))


@public("to_dlpack", method=False)
def to_dlpack(tensor: Any) -> Any:
    """The memory of a tensor as a capsule, which ``from_dlpack`` takes once; it may require grad."""
    return _handed_out(tensor)


class _Capsule:
    """What a library gave, in the form in which NumPy asks for it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Writable:
    """The memory of an array that NumPy takes for read-only, since capsules of the first version do not say."""

    def __init__(self, array: Any) -> None:
        self.array = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}


def _array_of(capsule: Any) -> Any:
    """The array in a capsule, which may be written where the capsule does not say otherwise."""
    try:
        array = np.from_dlpack(_Capsule(capsule))
    except (ValueError, TypeError) as e:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
            "might have already constructed a tensor from it once."
        ) from e
    versioned = "versioned" in repr(capsule)
    return array if versioned else np.asarray(_Writable(array))
