"""``TensorTable``: gives the tensors of a watched program numbers, and holds none of them.

A tensor is known by its ``id`` while a weak reference to it lives; memory by a key of the engine (an address, say)
while a known tensor that has it lives.  When the last one dies the key may come again for other memory, which then
gets a number of its own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from .tensors import TensorFacts


class _Reference(weakref.ref[Any]):
    """A weak reference that knows what to forget with its tensor."""

    __slots__ = ("identity", "number", "storage")

    identity: int
    number: int
    storage: Hashable


class TensorTable:
    """The rows of ``Recording.tensors`` in the making."""

    def __init__(self, rows: list[TensorFacts]) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._known: dict[int, _Reference] = {}
        self._storages: dict[Hashable, list[int]] = {}
        """Key of memory -> its number and how many known tensors live in it."""
        self._next_storage = 0
        self._asked: set[int] = set()
        """Tensors whose names were looked for."""
        self._forget = self._forgetter()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> TensorFacts:
        return self._rows[number]

    def known(self, tensor: Any) -> int | None:
        """Return the number of a tensor, None if it was not seen."""
        reference = self._known.get(id(tensor))
        return None if reference is None or reference() is not tensor else reference.number

    def add(self, tensor: Any, facts: TensorFacts, storage: Hashable = None) -> int:
        """Number a tensor that is not known yet; ``storage`` is the engine's key of its memory, None for none."""
        reference = _Reference(tensor, self._forget)
        identity = reference.identity = id(tensor)
        reference.storage = storage
        with self._lock:
            number = reference.number = len(self._rows)
            if storage is not None:
                entry = self._storages.get(storage)
                if entry is None:
                    entry = self._storages[storage] = [self._next_storage, 0]
                    self._next_storage += 1
                facts.storage = entry[0]
                entry[1] += 1
            self._rows.append(facts)
        self._known[identity] = reference
        return number

    def living(self, number: int) -> Any:
        """Return the tensor of a number, None if it has died; looks through all that live."""
        found = (one for one in list(self._known.values()) if one.number == number)
        return next((one() for one in found), None)

    def storage(self, key: Hashable) -> int | None:
        """Return the number of memory that a known tensor has."""
        entry = self._storages.get(key)
        return None if entry is None else entry[0]

    def name(self, tensor: Any, name: str, *, parameter: bool = False) -> None:
        """Give a known tensor a better name than it has; that of a parameter stays."""
        number = self.known(tensor)
        if number is not None and (parameter or not self._rows[number].parameter):
            self._rows[number].name, self._rows[number].parameter = name, parameter

    def unnamed(self, wanted: Callable[[TensorFacts], bool]) -> list[Any]:
        """Return the living tensors that are no parameters, of the wanted sort, and were not returned before."""
        found = []
        for reference in list(self._known.values()):
            facts = self._rows[reference.number]
            if reference.number not in self._asked and not facts.parameter and wanted(facts):
                tensor = reference()
                if tensor is not None:
                    self._asked.add(reference.number)
                    found.append(tensor)
        return found

    def close(self) -> None:
        """Forget all tensors, and leave the rows, which say now who was still alive."""
        for reference in list(self._known.values()):
            self._rows[reference.number].kept = reference() is not None
        self._known.clear()
        self._storages.clear()

    def _forgetter(self) -> Callable[[weakref.ref[Any]], None]:
        """Return what is called when a tensor dies: on any thread, between any two lines, so without a lock."""
        known, storages = self._known, self._storages

        def forget(reference: weakref.ref[Any]) -> None:
            assert isinstance(reference, _Reference)
            if known.get(reference.identity) is reference:
                del known[reference.identity]
            entry = storages.get(reference.storage)
            if entry is not None:
                entry[1] -= 1
                if not entry[1]:
                    del storages[reference.storage]

        return forget
