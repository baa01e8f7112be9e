"""Replaces the memory under a tensor and all tensors that share it: resized, or shared with forked processes."""

from __future__ import annotations

import gc
import mmap
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.bits import memory_of
from ..nodes.edges import getrefcount
from .owners import owner_of
from .storage import Storage
from .strided import Geometry, address
from .versions import storage_of


class _Mapped(np.ndarray[Any, np.dtype[Any]]):
    """An array on shared memory, recognizable in its views."""


def move_to_shared_memory(t: TensorBase) -> None:
    """Move a tensor, and whatever tensor else lies in the same memory, to memory that forked processes share."""
    owner = owner_of(memory_of(t))
    if not isinstance(owner, np.ndarray):  # a buffer of the program's, which stays where it is
        owner = memory_of(t)
    memory = _Mapped((max(owner.nbytes, 1),), np.uint8, mmap.mmap(-1, max(owner.nbytes, 1)))
    memory[: owner.nbytes] = owner.ravel(order="K").view(np.uint8)
    aliases = aliases_of(t, owner)
    for storage in {storage_of(alias) for alias in aliases}:
        if storage.root is not None:
            storage.root = _moved(storage.root, owner, memory)
    for alias in aliases:
        _set_memory(alias, _moved(memory_of(alias), owner, memory))


def move_to_size(root: Any, nbytes: int, aliases: list[TensorBase]) -> Any:
    """Exchange the memory that begins with an array for one of another size, with what fits of its bytes, under all
    tensors that lie in it.

    Returns it. Those that are too large for it stay where they are, until it grows again: NumPy cannot take memory from
    under an array.
    """
    memory = np.zeros(nbytes, np.uint8)
    kept = min(nbytes, root.nbytes)
    memory[:kept] = root.reshape(-1).view(np.uint8)[:kept]
    for alias in aliases:
        storage, array = storage_of(alias), memory_of(alias)
        start = root if storage.left is None else storage.left
        offset = address(array) - address(start)
        if offset + Geometry.of(array, 0).extent() * array.itemsize <= nbytes:
            _set_memory(alias, np.ndarray(array.shape, array.dtype, memory, offset, array.strides))
    for storage in {storage_of(alias) for alias in aliases}:
        _remember(storage, root, memory)
    return memory


def _remember(storage: Storage, before: Any, memory: Any) -> None:
    storage.left = before if storage.left is None and memory.nbytes < before.nbytes else None
    storage.root = memory


_set_memory: Any = TensorBase._array.__set__  # type: ignore[attr-defined]  # dtype and shape stay as they are


def _moved(array: Any, owner: Any, memory: Any) -> Any:
    """The part of the new memory that has the place of an array in the old one."""
    return np.ndarray(array.shape, array.dtype, memory, address(array) - address(owner), array.strides)


def aliases_of(t: TensorBase | None, owner: Any) -> list[TensorBase]:
    """The tensors whose elements lie in an array's memory; they are not known to it, so all objects are asked."""
    if t is not None and owner is memory_of(t) and getrefcount(owner) <= 4:
        return [t]  # the tensor, two variables and getrefcount's own argument
    objects = gc.get_objects()
    classes = {kind for kind in set(map(type, objects)) if issubclass(kind, TensorBase)}
    return [o for o in objects if type(o) in classes and (o is t or _lies_in(o, owner))]


def _lies_in(t: TensorBase, owner: Any) -> bool:
    """Whether the elements of a tensor lie in the memory of an array, or lay there when it was larger."""
    try:
        if owner_of(memory_of(t)) is owner:
            return True
        meta = t._meta
    except AttributeError:  # one that is being made
        return False
    return meta is not None and meta.storage is not None and meta.storage.left is not None and (
        meta.storage.root is owner
    )  # fmt: skip


def is_in_shared_memory(array: Any) -> bool:
    """Whether it is such a copy, or a view of one."""
    while array is not None and not isinstance(array, _Mapped):
        array = getattr(array, "base", None)
    return array is not None
