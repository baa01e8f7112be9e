"""Notices writes to memory shared with a NumPy array while a backward pass needs it.

The engine does not see such a write, so the memory is checked when a node saves it, when it is saved again, and when
backward begins. Only memory that the program brought in as an array, or got out as one, is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FrameType
from typing import NamedTuple

from .....engine.aliasing.versions import storage_of
from .....engine.core.base import TensorBase
from ....references import Reference
from ...array_writes import LARGEST, MOST, SHARING, digest, write_event
from ..backward.facts import memory_of
from ..watching import Watching


class _Kept(NamedTuple):
    """Saved memory, with its checksum when it was saved."""

    array: Reference
    storage: Reference
    """Its version counter, which shows the engine's own writes."""
    number: int
    digest: int
    version: int
    steps: int
    """How many steps optimizers had taken, which may write to it."""


class SharedMemory:
    """Memory of one watcher's tensors that NumPy can write into."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self.memories: dict[int, Reference] = {}
        """Shared memory by id."""
        self._kept: dict[int, _Kept] = {}
        """By id of the array."""
        self.steps = 0
        """How many steps optimizers have taken."""

    def comes_in(self, function: str, t: TensorBase) -> None:
        """Note that a function made a tensor, perhaps in an array's memory."""
        if function in SHARING:
            self._share(t)

    def goes_out(self, t: TensorBase, number: int, frame: FrameType | None) -> None:
        """Note that the program got a tensor's array."""
        table = self._watching.sink.tensors
        base = table[number].view_of
        whole = None if base is None else table.living(base)
        if base is not None and whole is not None and whole._array is t._array:
            t, number = whole, base  # an alias by ``.data`` counts versions of its own
        self._share(t)
        self._keep(t, number, frame)

    def keeps(self, saves: Sequence[int], tensors: Iterable[TensorBase], frame: FrameType | None) -> None:
        """Note that a node saves some of the tensors of a call."""
        for t in tensors:
            number = self._watching.sink.tensors.known(t)
            memory = memory_of(t._array)
            shared = self.memories.get(id(memory))
            if number is not None and number in saves and shared is not None and shared() is memory:
                self._keep(t, number, frame)

    def written(self, t: TensorBase) -> None:
        """Note that the engine wrote into a tensor, perhaps through an alias with another version counter."""
        memory = memory_of(t._array) if self._kept else None
        for key, kept in list(self._kept.items()):
            array = kept.array()
            if array is not None and memory_of(array) is memory:
                self._kept[key] = kept._replace(digest=digest(array))

    def look(self, frame: FrameType | None) -> None:
        """Report, when a backward pass begins, memory that changed since it was saved."""
        for key in list(self._kept):
            self._compare(key, frame)

    def _share(self, t: TensorBase) -> None:
        for key in [key for key, reference in self.memories.items() if reference() is None]:
            del self.memories[key]
        memory = memory_of(t._array)
        self.memories[id(memory)] = Reference(memory)

    def _keep(self, t: TensorBase, number: int, frame: FrameType | None) -> None:
        array = t._array
        if id(array) in self._kept:
            self._compare(id(array), frame)
        if len(self._kept) < MOST and array.nbytes <= LARGEST:
            storage = storage_of(t)
            seen = digest(array), storage.version, self.steps
            self._kept[id(array)] = _Kept(Reference(array), Reference(storage), number, *seen)

    def _compare(self, key: int, frame: FrameType | None) -> None:
        """Report an array that was changed, but not by the engine, and update its checksum."""
        kept = self._kept.pop(key, None)
        array, storage = (None, None) if kept is None else (kept.array(), kept.storage())
        if kept is None or array is None or storage is None:
            return
        now = kept._replace(digest=digest(array), version=storage.version, steps=self.steps)
        self._kept[key] = now
        if now.digest != kept.digest and now[4:] == kept[4:]:
            self._watching.send(write_event(kept.number, self._name(kept.number), frame, now.version))

    def _name(self, number: int) -> str:
        """Return the name of a tensor or of the one that it is an alias of."""
        table = self._watching.sink.tensors
        name, base = table[number].name, table[number].view_of
        return name if name or base is None else table[base].name
