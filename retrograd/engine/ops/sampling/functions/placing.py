"""Puts numbers drawn in sequence into tensors in the order in which PyTorch traverses their memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....aliasing.memory_formats import fastest_first
from ....aliasing.strided import element_strides
from ....tensors.bits import memory_of


def placed(tensor: Any, line: Any) -> Any:
    """A line of numbers as values for a tensor."""
    array = memory_of(tensor)
    if array.flags.c_contiguous:
        return line.reshape(array.shape)
    order = fastest_first(array.shape, [element_strides(array)])[::-1]
    return line.reshape([array.shape[dim] for dim in order]).transpose(np.argsort(order))


def is_contiguous(tensor: Any) -> bool:
    """Whether the elements lie in memory row by row, without gaps."""
    return bool(memory_of(tensor).flags.c_contiguous)


def drawn_in(shape: Any, draw: Callable[[int], Any]) -> Any:
    """An array of a shape, or of so many numbers, from ``draw``, which gets their number."""
    return draw(shape) if isinstance(shape, int) else draw(math.prod(shape)).reshape(shape)


def none_drawn(t: Any) -> Any:
    """Zeros in place of random numbers for a tensor without memory, for which none are drawn."""
    return np.zeros(tuple(t.shape), t._sig.numpy)
