"""Arrays in memory that a process shares with those that it forks."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


class _Mapped(np.ndarray[Any, np.dtype[Any]]):
    """An array over shared memory, so that views of it can tell."""


def in_shared_memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of an array, with its strides where it has no gaps, in memory that forked processes share."""
    memory = _Mapped((max(array.nbytes, 1),), np.uint8, mmap.mmap(-1, max(array.nbytes, 1)))
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    made: Any = np.ndarray(array.shape, array.dtype, memory, order="F" if turned else "C")
    made[...] = array
    return made  # type: ignore[no-any-return]


def is_in_shared_memory(array: Any) -> bool:
    """Whether it is such a copy, or a view of one."""
    while array is not None and not isinstance(array, _Mapped):
        array = getattr(array, "base", None)
    return array is not None
