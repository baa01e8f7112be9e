"""The conjugate and negative bits: operations applied to the values in memory when a tensor is read.

``conj()`` and ``.imag`` of a conjugated tensor copy nothing, they are views with a bit set.  ``unresolved`` holds the
class of tensors with a bit, which resolve it each time their array is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .. import late
from .absent import AbsentMemory
from .base import Array, TensorBase

CONJUGATE: Final = 1
NEGATIVE: Final = 2
memory_of: Callable[[TensorBase], Array] = TensorBase._array.__get__  # type: ignore[attr-defined]
"""The array in memory, before it is conjugated or negated."""


def bits_of(t: TensorBase) -> int:
    """The lazy operations that are applied when a tensor is read."""
    return t._meta.bits if t._meta is not None else 0


def mark(t: TensorBase, bits: int) -> None:
    """Let a tensor that was just made be conjugated or negated when it is read."""
    if bits and type(memory_of(t)) is not AbsentMemory:
        t.need_meta().bits = bits
        t.__class__ = late.unresolved_class


def class_of(t: TensorBase) -> type[Any]:
    """The class that a copy of a tensor gets."""
    if t.__class__ is not late.unresolved_class and t.__class__ is not late.batched_class:
        return t.__class__
    return late.parameter_class if t._meta is not None and t._meta.is_parameter else late.tensor_class


def with_bits(values: Any, bits: int) -> Array:
    """Values conjugated and negated according to ``bits``; an involution."""
    if bits & CONJUGATE:
        values = np.conjugate(values)
    return np.asarray(np.negative(values) if bits & NEGATIVE else values)


def assign(t: TensorBase, values: Any) -> None:
    """Write values into a tensor's memory so that reading the tensor returns them."""
    bits = bits_of(t)
    memory_of(t)[...] = with_bits(values, bits) if bits else values
