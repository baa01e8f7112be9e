"""``TensorTable``: gives the tensors of a watched program numbers, and holds none of them.

A tensor is known by its ``id`` while a weak reference to it lives.  Memory is known by an object that owns it, as long
as that lives; or by a key of the engine (an address, say) while a known tensor that has it lives.  When that is over
the key may come again for other memory, which then gets a number of its own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from .tensors import TensorFacts

_DEAD = 1_000
"""Entries of dead tensors that are kept at most beside as many as live: looking for them costs more than they take."""
_Owners = dict[int, tuple[weakref.ref[Any], int]]
"""By id: an object and the number that goes with it."""


class _Reference(weakref.ref[Any]):
    """A weak reference that knows which key of memory to forget with its tensor."""

    __slots__ = ("storage",)

    storage: Hashable


class TensorTable:
    """The rows of ``Recording.tensors`` in the making."""

    def __init__(self, rows: list[TensorFacts]) -> None:
        self.rows = rows
        """By number; read only."""
        self._lock = threading.Lock()
        self._known: _Owners = {}
        self._memories: _Owners = {}
        self._storages: dict[Hashable, list[int]] = {}
        """Key of memory -> its number and how many known tensors live in it."""
        self._next_storage = 0
        self._most = _DEAD
        """Entries after which those of the dead are thrown out."""
        self._asked: set[int] = set()
        """Tensors whose names were looked for."""
        self._forget = self._forgetter()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> TensorFacts:
        return self.rows[number]

    def known(self, tensor: Any) -> int | None:
        """Return the number of a tensor, None if it was not seen."""
        entry = self._known.get(id(tensor))
        return None if entry is None or entry[0]() is not tensor else entry[1]

    def numbers(self, tensors: Iterable[Any]) -> list[int | None]:
        """Return what ``known`` does for each of several tensors."""
        known, found = self._known, []
        for tensor in tensors:
            entry = known.get(id(tensor))
            found.append(None if entry is None or entry[0]() is not tensor else entry[1])
        return found

    def add(self, tensor: Any, facts: TensorFacts, storage: Hashable = None, *, memory: Any = None) -> int:
        """Number a tensor that is not known yet.

        Its memory is told by the object that owns it, ``memory``, or by the engine's key of it; None for none.
        """
        with self._lock:
            number = len(self.rows)
            if memory is not None:
                owner = self._memories.get(id(memory))
                if owner is None or owner[0]() is not memory:
                    owner = self._memories[id(memory)] = (weakref.ref(memory), self._next_storage)
                    self._next_storage += 1
                facts.storage = owner[1]
            reference = weakref.ref(tensor) if storage is None else self._counted(tensor, facts, storage)
            self.rows.append(facts)
            self._known[id(tensor)] = (reference, number)
            if len(self._known) > self._most:
                self._throw_out()
        return number

    def _counted(self, tensor: Any, facts: TensorFacts, storage: Hashable) -> _Reference:
        """Count a tensor to the memory that a key stands for."""
        entry = self._storages.get(storage)
        if entry is None:
            entry = self._storages[storage] = [self._next_storage, 0]
            self._next_storage += 1
        facts.storage = entry[0]
        entry[1] += 1
        reference = _Reference(tensor, self._forget)
        reference.storage = storage
        return reference

    def _throw_out(self) -> None:
        """Forget who has died."""
        for table in (self._known, self._memories):
            for key, entry in list(table.items()):
                if entry[0]() is None:
                    del table[key]
        self._most = 2 * len(self._known) + _DEAD

    def living(self, number: int) -> Any:
        """Return the tensor of a number, None if it has died; looks through all that live."""
        found = (reference() for reference, row in list(self._known.values()) if row == number)
        return next(found, None)

    def storage(self, key: Hashable) -> int | None:
        """Return the number of memory with this key that a known tensor has."""
        entry = self._storages.get(key)
        return None if entry is None else entry[0]

    def memory(self, owner: Any) -> int | None:
        """Return the number of the memory that an object owns, if a known tensor had it."""
        entry = self._memories.get(id(owner))
        return None if entry is None or entry[0]() is not owner else entry[1]

    def name(self, tensor: Any, name: str, *, parameter: bool = False) -> None:
        """Give a known tensor a better name than it has; that of a parameter stays."""
        number = self.known(tensor)
        if number is not None and (parameter or not self.rows[number].parameter):
            self.rows[number].name, self.rows[number].parameter = name, parameter

    def unnamed(self, wanted: Callable[[TensorFacts], bool]) -> list[Any]:
        """Return the living tensors that are no parameters, of the wanted sort, and were not returned before."""
        found = []
        for reference, number in list(self._known.values()):
            facts = self.rows[number]
            if number not in self._asked and not facts.parameter and wanted(facts):
                tensor = reference()
                if tensor is not None:
                    self._asked.add(number)
                    found.append(tensor)
        return found

    def close(self) -> None:
        """Forget all tensors, and leave the rows, which say now who was still alive."""
        for reference, number in list(self._known.values()):
            self.rows[number].kept = reference() is not None
        for table in (self._known, self._memories, self._storages):
            table.clear()

    def _forgetter(self) -> Callable[[weakref.ref[Any]], None]:
        """Return what is called when a tensor dies whose memory is counted: on any thread, so without a lock."""
        storages = self._storages

        def forget(reference: weakref.ref[Any]) -> None:
            assert isinstance(reference, _Reference)
            entry = storages.get(reference.storage)
            if entry is not None:
                entry[1] -= 1
                if not entry[1]:
                    del storages[reference.storage]

        return forget
