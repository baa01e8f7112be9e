"""Notices writes to memory that others can reach while a backward pass needs it.

No engine sees NumPy write to an array, nor a library that received memory through DLPack. So memory that was handed out
is checked at that moment, whenever a node saves it, and when backward begins.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Hashable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ....graphs.graph import SourceLine
from ....program.frames import source_line
from ....recording.lent_memory import Lent
from ....references import Reference
from ...array_writes import LARGEST, MOST, MOST_BYTES, write_event
from ...step_effects import content_of
from ..calls.calls import version_of
from ..calls.tensors import number_of
from ..values.values import Readable


class _Watched(NamedTuple):
    """One stretch of memory, as it was."""

    owner: Reference
    """The storage, which lives as long as the memory."""
    storage: int
    number: int
    """The tensor with these entries, and ``tensor`` itself, whose version shows PyTorch's writes while it lives."""
    tensor: Reference
    line: SourceLine | None
    """The line that handed it out."""
    content: Hashable
    version: int
    steps: int
    """How many steps optimizers had taken, which write as they like."""


class SharedMemory:
    """What one recording knows of memory that others can write into."""

    def __init__(self, sink: Any, readable: Readable, steps: Callable[[], int]) -> None:
        self._sink = sink
        self._table = sink.tensors
        self._readable = readable
        self._steps = steps
        self._watched: dict[tuple[int, int], _Watched] = {}
        """By address and length in bytes."""

    def hands_out(self, given: Any, way: str, frame: FrameType | None) -> None:
        """The program gets a hold on a tensor's memory: as long as that lives, it may write through it."""
        pointer = self._readable.pointer(given) if self._readable.now() else 0
        if not pointer:
            return
        storage, number = given.untyped_storage(), number_of(self._table, given)
        memory = self._table.memory(storage)
        if memory is None:
            return
        offset = given.storage_offset() * given.itemsize
        self._table.lent.hand_out(pointer, Lent(Reference(storage), number, memory, way, offset))
        self._watch(given, number, memory, frame)

    def keeps(self, tensor: Any, number: int, storage: int, frame: FrameType | None) -> None:
        """A node keeps a tensor whose memory somebody else has a hold on."""
        for place, watched in list(self._watched.items()):
            if watched.storage == storage:
                self._compare(place, frame)
        if self._readable.now():
            self._watch(tensor, number, storage, frame)

    def written(self, storages: Collection[int | None]) -> None:
        """PyTorch wrote there, perhaps through an alias with a version of its own."""
        for place, watched in list(self._watched.items()) if storages else ():
            if watched.storage in storages:
                self._note(place, watched)

    def look(self, frame: FrameType | None) -> None:
        """A backward pass begins: report memory that was changed since it was last checked."""
        for place in list(self._watched):
            self._compare(place, frame)

    def _watch(self, tensor: Any, number: int, storage: int, frame: FrameType | None) -> None:
        """Look at a tensor's memory from now on, if that is not too much."""
        pointer, size = self._readable.pointer(tensor), _span(tensor)
        if not pointer or not size or size > LARGEST or (pointer, size) in self._watched:
            return
        if len(self._watched) >= MOST or sum(length for _, length in self._watched) + size > MOST_BYTES:
            self._forget_dead()
            if len(self._watched) >= MOST or sum(length for _, length in self._watched) + size > MOST_BYTES:
                return
        whole = self._original(tensor, number)
        owner, line = Reference(tensor.untyped_storage()), source_line(frame)
        watched = _Watched(owner, storage, number, Reference(whole), line, None, version_of(whole), 0)
        self._note((pointer, size), watched)

    def _original(self, given: Any, number: int) -> Any:
        """Return the living tensor of which another one is an alias by ``detach()``, else that one: it outlives it."""
        base = self._table[number].view_of
        whole = None if base is None else self._table.living(base)
        return given if whole is None or whole.data_ptr() != given.data_ptr() else whole

    def _forget_dead(self) -> None:
        for place in [place for place, watched in self._watched.items() if watched.owner() is None]:
            del self._watched[place]

    def _note(self, place: tuple[int, int], watched: _Watched) -> _Watched | None:
        """Note memory as it is now; None if it is gone."""
        storage, tensor = watched.owner(), watched.tensor()
        if storage is None or not storage.nbytes():
            self._watched.pop(place, None)
            return None
        memory: Any = (ctypes.c_char * place[1]).from_address(place[0])
        content = content_of(np.frombuffer(memory, np.uint8))
        version = watched.version if tensor is None else version_of(tensor)
        now = self._watched[place] = watched._replace(content=content, version=version, steps=self._steps())
        return now

    def _compare(self, place: tuple[int, int], frame: FrameType | None) -> None:
        before = self._watched[place]
        now = self._note(place, before)
        if now is None or now.content == before.content:
            return
        if now.version == before.version and now.steps == before.steps:
            self._sink(write_event(now.number, self._name(now.number), frame, now.version, now.line))

    def _name(self, number: int) -> str:
        """Return the name of a tensor, or of the one that it is an alias of."""
        facts = self._table.entered(number)
        return str(facts.name if facts.name or facts.view_of is None else self._table.entered(facts.view_of).name)


def _span(tensor: Any) -> int:
    """Return how many bytes lie between a tensor's first entry and its last one, with both."""
    if not tensor.numel():
        return 0
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int((last + 1) * tensor.itemsize)
