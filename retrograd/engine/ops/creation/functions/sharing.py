"""Tensors on memory that is there already: of buffers, arrays and other tensors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.base import TensorBase
from ....core.dtypes import get_default_dtype, scalar_name, to_numpy_dtype
from ....deprecations import discourage
from ....table.public import public
from .copying import to
from .creating import finish, from_numpy, numpy_of, tensor


@public("frombuffer", method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:  # fmt: skip
    """A tensor on the memory of an object with the buffer protocol."""
    numpy, memory = to_numpy_dtype(dtype), memoryview(buffer)
    fault = _buffer_fault(memory.nbytes, numpy.itemsize, count, offset)
    if fault:
        raise ValueError(fault)
    if memory.readonly:
        discourage("read-only buffer")
    return finish(np.frombuffer(memory, numpy, count, offset), requires_grad)


def _buffer_fault(length: int, size: int, count: int, offset: int) -> str:
    """Why a buffer does not hold ``count`` elements (all, if negative) after ``offset`` bytes; nothing if it does."""
    if not length or not count:
        return f"both buffer length ({length}) and count ({count}) must not be 0"
    if not 0 <= offset < length:
        return (
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        return (
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    if offset + count * size > length:
        return (
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return ""


@public("asarray", method=False)
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Any:  # fmt: skip
    """A tensor of the data, sharing its memory where possible unless ``copy``."""
    shared = _on_memory_of(obj, dtype)
    if shared is None:
        made = _from_numbers(obj, dtype, copy)
    elif copy or (dtype is not None and dtype != shared.dtype):
        if copy is False:
            names = [scalar_name(to_numpy_dtype(d)) for d in (shared.dtype, dtype)]
            raise ValueError(f"can't alias tensor with dtype '{names[0]}' into dtype '{names[1]}'.")
        made = to(shared, dtype or shared.dtype, copy=True)
    else:
        made = shared
    if requires_grad is None:
        if made.requires_grad:
            discourage("asarray")
        return made
    refuse(
        requires_grad and not made._sig.differentiable,
        "Only Tensors of floating point and complex dtype can require gradients",
    )
    return made._requiring_grad(requires_grad) if requires_grad or made.is_leaf else made.detach()


def _on_memory_of(obj: Any, dtype: Any) -> Any:
    """The tensor that an object is, or one on its memory; ``None`` where it has none to share."""
    if isinstance(obj, TensorBase):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, np.generic):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or get_default_dtype())


def _from_numbers(obj: Any, dtype: Any, copy: bool | None) -> Any:
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return tensor(obj, dtype=dtype)


@public("from_file", method=False)
def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A tensor on a file's bytes: writes go to the file if ``shared``, which then is made or grows as needed."""
    numpy = numpy_of(dtype)
    wanted = size * numpy.itemsize
    have = _file_size(filename, wanted if shared else None)
    if wanted > have:
        raise RuntimeError(f"file <{filename}> size <{have}> is smaller than the required mapping size <{wanted}>")
    if not size:
        return finish(np.empty(0, numpy))
    return finish(np.asarray(np.memmap(filename, numpy, "r+" if shared else "c", shape=(size,))))


def _file_size(filename: str, least: int | None) -> int:
    """How many bytes a file has, which is made or grows to ``least`` where that is given."""
    try:
        with open(filename, "rb" if least is None else "ab") as file:
            have = file.seek(0, os.SEEK_END)
            return have if least is None else file.truncate(max(have, least))
    except OSError as error:
        mode = "read-only" if least is None else "read-write"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from None
