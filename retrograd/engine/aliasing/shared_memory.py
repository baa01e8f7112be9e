"""Arrays in memory that a process shares with those that it forks."""

from __future__ import annotations

import gc
import mmap
from typing import Any

import numpy as np

from ..nodes.references import getrefcount
from ..tensors.base import TensorBase
from ..tensors.bits import memory_of
from .owners import owner_of
from .strided import address
from .versions import storage_of


class _Mapped(np.ndarray[Any, np.dtype[Any]]):
    """An array over shared memory, so that views of it can tell."""


def move_to_shared_memory(t: TensorBase) -> None:
    """Move a tensor, and whatever tensor else lies in the same memory, to memory that forked processes share."""
    owner = owner_of(memory_of(t))
    if not isinstance(owner, np.ndarray):  # a buffer of the program's, which stays where it is
        owner = memory_of(t)
    memory = _Mapped((max(owner.nbytes, 1),), np.uint8, mmap.mmap(-1, max(owner.nbytes, 1)))
    memory[: owner.nbytes] = owner.ravel(order="K").view(np.uint8)
    aliases = _aliases(t, owner)
    for storage in {storage_of(alias) for alias in aliases}:
        if storage.root is not None:
            storage.root = _moved(storage.root, owner, memory)
    for alias in aliases:
        _set_memory(alias, _moved(memory_of(alias), owner, memory))


_set_memory: Any = TensorBase._array.__set__  # type: ignore[attr-defined]  # dtype and shape stay as they are


def _moved(array: Any, owner: Any, memory: Any) -> Any:
    """The part of the new memory that has the place of an array in the old one."""
    return np.ndarray(array.shape, array.dtype, memory, address(array) - address(owner), array.strides)


def _aliases(t: TensorBase, owner: Any) -> list[TensorBase]:
    """The tensors whose elements lie in an array's memory; they are not known to it, so all objects are asked."""
    if owner is memory_of(t) and getrefcount(owner) <= 4:  # the tensor, two variables and getrefcount's own argument
        return [t]
    objects = gc.get_objects()
    classes = {kind for kind in set(map(type, objects)) if issubclass(kind, TensorBase)}
    return [t, *[o for o in objects if type(o) in classes and o is not t and _lies_in(o, owner)]]


def _lies_in(t: TensorBase, owner: Any) -> bool:
    """Whether the elements of a tensor lie in the memory of an array."""
    try:
        return owner_of(memory_of(t)) is owner
    except AttributeError:  # one that is being made
        return False


def is_in_shared_memory(array: Any) -> bool:
    """Whether it is such a copy, or a view of one."""
    while array is not None and not isinstance(array, _Mapped):
        array = getattr(array, "base", None)
    return array is not None
