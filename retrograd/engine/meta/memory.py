"""Arrays of zeros of any size that use no memory until they are read.

They all share one read-only mapping of addresses. Reading returns the operating system's single page of zeros, so that
computing on such arrays gives the shape of a result.
"""

from __future__ import annotations

import functools
import math
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..aliasing.strided import address, contiguous_strides
from ..core.absent import AbsentMemory

_SIZES = tuple([2**bits for bits in (46, 44, 40, 36, 32, 28)])
"""How many bytes are asked for, in turn: less where the process may not have so many addresses."""


@functools.cache
def _nothing() -> Any:
    """The mapping, or ordinary memory if there is no mapping of this size."""
    for size in _SIZES:
        try:
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        except (AttributeError, OSError, OverflowError, ValueError):
            continue
    return bytes(2**20)


@functools.cache
def _start() -> int:
    return address(np.frombuffer(_nothing(), np.uint8, 1))


def readable(shape: Sequence[int], numpy: np.dtype[Any], strides: Sequence[int] | None = None, offset: int = 0) -> Any:
    """An array of zeros; ``strides`` and ``offset`` count elements."""
    return _array(np.ndarray, shape, numpy, strides, offset)


def absent(shape: Sequence[int], numpy: np.dtype[Any], strides: Sequence[int] | None = None, offset: int = 0) -> Any:
    """The same as an array that refuses to be read."""
    try:
        made = _array(AbsentMemory, shape, numpy, strides, offset)
    except RuntimeError:  # since it is not read, it need not have addresses
        steps = contiguous_strides(tuple(shape)) if strides is None else strides
        small = _array(AbsentMemory, (1,), numpy, None, 0)
        made = as_strided(small, tuple(shape), [s * numpy.itemsize for s in steps], subok=True)
    made.offset = offset
    return made


def _array(kind: Any, shape: Sequence[int], numpy: Any, strides: Sequence[int] | None, offset: int) -> Any:
    sizes = tuple(shape)
    steps = contiguous_strides(sizes) if strides is None else tuple(strides)
    last = offset + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True)) if 0 not in sizes else offset
    if (last + 1) * numpy.itemsize > len(_nothing()):
        raise RuntimeError(
            f"[enforce fail] a tensor of {math.prod(sizes)} elements of {numpy.itemsize} bytes is larger than the "
            f"{len(_nothing())} bytes of addresses that there are for tensors without memory"
        )
    return kind(sizes, numpy, _nothing(), offset * numpy.itemsize, tuple([s * numpy.itemsize for s in steps]))


def offset_of(array: Any) -> int:
    """Where a view of such an array begins, in elements; 0 for one with memory of its own."""
    start = address(array) - _start()
    inside = 0 <= start < len(_nothing())
    return start // array.itemsize if inside else 0
