"""Tensors for the arrays of a backward pass that become visible to the program.

A pass that creates no graph works on bare arrays. Where the program supplies one, or gets to see one (in a hook, a
custom Function, a result of ``grad``), it must not notice: a gradient that nodes passed on is the same tensor again,
and one in the same memory is a view of it, with the same version counter.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..aliasing.owners import owner_of
from ..aliasing.strided import Geometry, address, element_strides, storage_offset
from ..aliasing.views import make_views
from ..core.base import CreationTag, TensorBase, wrap
from ..core.bits import bits_of
from ..core.registry import OPS


class SeenTensors:
    """The tensors of a run that the program has seen so far, held weakly."""

    __slots__ = ("_by_array", "_by_memory")

    def __init__(self, given: Iterable[Any] = ()) -> None:
        self._by_array: dict[int, weakref.ref[Any]] = {}
        self._by_memory: dict[int, weakref.ref[Any]] = {}
        for t in given:
            if t is not None:
                self.add(t)

    def add(self, t: TensorBase) -> None:
        """Remember a tensor; the first of those that share memory is the one that others are views of."""
        if bits_of(t) or t._array.__class__ is not np.ndarray:
            return
        ref = weakref.ref(t)
        self._by_array[id(t._array)] = ref
        memory = owner_of(t._array)
        if self._known(memory) is None:
            self._by_memory[id(memory)] = ref

    def tensor_of(self, value: Any) -> Any:
        """A gradient as the program sees it; ``None`` and tensors are what they are."""
        if value is None or isinstance(value, TensorBase):
            return value
        ref = self._by_array.get(id(value))
        t = None if ref is None else ref()
        if t is not None and t._array is value:
            return t
        known, t = self.sharing(value), wrap(value)
        if known is not None:
            _make_view(t, known)
        self.add(t)
        return t

    def tensors_of(self, values: list[Any]) -> list[Any]:
        """Several gradients, of which those that own their memory are seen first."""
        owners = [self.tensor_of(v) for v in values if v.__class__ is np.ndarray and v.base is None]
        found = [self.tensor_of(v) for v in values]
        del owners  # which were to be held until now
        return found

    def sharing(self, array: Any) -> Any:
        """A tensor in the same memory that the program has seen and still holds, or ``None``."""
        return self._known(owner_of(array)) if array.__class__ is np.ndarray else None

    def _known(self, memory: Any) -> Any:
        ref = self._by_memory.get(id(memory))
        t = None if ref is None else ref()
        return t if t is not None and owner_of(t._array) is memory else None


def _make_view(t: TensorBase, known: TensorBase) -> None:
    """Make ``t`` a view of ``known`` (or of its root), as views made by a run without a graph are."""
    size, strides = tuple(t._sig.shape), element_strides(t._array)
    origin = Geometry.of(known._array, storage_offset(known))
    offset = origin.offset + (address(t._array) - address(known._array)) // (t._array.itemsize or 1)
    make_views([t], known, None, OPS["as_strided"], (known, size, strides, offset, origin))
    if t._meta is not None and t._meta.view is not None:
        t._meta.view.tag = CreationTag.NO_GRAD
