"""``TensorTable``: gives the tensors of a watched program numbers, and holds none of them.

A tensor is known by its ``id`` while a weak reference to it lives.  Memory is known by an object that owns it, as long
as that lives; or by a key of the engine (an address, say) while a known tensor that has it lives.  When that is over
the key may come again for other memory, which then gets a number of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ..locks import lock
from .tensor_facts import TensorFacts

_DEAD = 250
"""Entries of dead tensors that are kept at most beside as many as live: looking for them costs more than they take."""


class _Living:
    """Numbers of objects as long as they live.

    Reference and number lie in two dictionaries, since a pair of them would be one more object for Python's garbage
    collector to look into.
    """

    def __init__(self) -> None:
        self.references: dict[int, weakref.ref[Any]] = {}
        self.numbers: dict[int, int] = {}

    def find(self, thing: Any) -> int | None:
        """Return the number of an object, None if it has none."""
        reference = self.references.get(id(thing))
        return None if reference is None or reference() is not thing else self.numbers.get(id(thing))

    def enter(self, thing: Any, number: int) -> int:
        """Return the number of an object, which is this one if it has none yet; who looks meanwhile finds none."""
        key = id(thing)
        reference = self.references.get(key)
        if reference is not None and reference() is thing:
            return self.numbers[key]
        self.numbers[key] = number
        self.references[key] = weakref.ref(thing)
        return number

    def pairs(self) -> list[tuple[weakref.ref[Any], int]]:
        """Return all references, also dead ones, with their numbers."""
        return [
            (reference, self.numbers[key]) for key, reference in list(self.references.items()) if key in self.numbers
        ]

    def throw_out(self) -> None:
        """Forget who has died."""
        for key, reference in list(self.references.items()):
            if reference() is None:
                del self.references[key]
                del self.numbers[key]

    def clear(self) -> None:
        """Forget all."""
        self.references.clear()
        self.numbers.clear()


class _Thing:
    """Dies at once."""


_ref: Any = weakref.ref
_GONE: Any = _ref(_Thing())
"""In place of a reference that is not there: it refers to nothing, so nobody has to ask whether there is one."""


class _Reference(weakref.ref[Any]):
    """A weak reference that knows which key of memory to forget with its tensor."""

    __slots__ = ("storage",)

    storage: Hashable


def _nothing() -> None:
    pass


class TensorTable:
    """The rows of ``Recording.tensors`` in the making."""

    def __init__(self, rows: list[Any], settle: Callable[[], None] = _nothing) -> None:
        """``settle`` is called before rows are read, and fills those that were only reserved."""
        self._rows = rows
        self._settle = settle
        self._lock = lock()
        self._known = _Living()
        self._memories = _Living()
        self._storages: dict[Hashable, list[int]] = {}
        """Key of memory -> its number and how many known tensors live in it."""
        self._next_storage = 0
        self._most = _DEAD
        """Entries after which those of the dead are thrown out."""
        self.lent = False
        """Whether memory of a tensor may be written by others than its engine, as those who number tensors say."""
        self._asked: set[int] = set()
        """Tensors whose names were looked for."""
        self._forget = self._forgetter()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> list[TensorFacts]:
        """What is known of each tensor, by number; read only."""
        self._settle()
        return self._rows

    def __getitem__(self, number: int) -> TensorFacts:
        return self.rows[number]

    def entered(self, number: int) -> TensorFacts:
        """Return what was known of a tensor when it was numbered; what notes say of it, if they are to fill its row."""
        facts: TensorFacts | None = self._rows[number]
        return self.rows[number] if facts is None else facts

    def known(self, tensor: Any) -> int | None:
        """Return the number of a tensor, None if it was not seen."""
        return self._known.find(tensor)

    def numbers(self, tensors: Iterable[Any]) -> list[int | None]:
        """Return what ``known`` does for each of several tensors."""
        reference_of, number_of = self._known.references.get, self._known.numbers.get
        return [  # as ``find``, of which the calls would take as long as what it does
            number_of(key) if reference_of(key := id(tensor), _GONE)() is tensor else None for tensor in tensors
        ]

    def add(self, tensor: Any, facts: TensorFacts, storage: Hashable = None, *, memory: Any = None) -> int:
        """Number a tensor that is not known yet.

        Its memory is told by the object that owns it, ``memory``, or by the engine's key of it; None for none.
        """
        with self._lock:
            number = len(self._rows)
            if memory is not None:
                facts.storage = self._memory_number(memory)
            if storage is None:
                self._enter(tensor, number, facts, weakref.ref(tensor))
            else:
                reference, facts.storage = self._counted(tensor, storage)
                self._enter(tensor, number, facts, reference)
        return number

    def moved(self, tensor: Any, storage: Hashable) -> None:
        """A known tensor was given other memory: that which it had may be freed, and its key come again."""
        with self._lock:
            references = self._known.references
            known = references.get(id(tensor))
            if isinstance(known, _Reference) and known() is tensor:
                references[id(tensor)] = weakref.ref(tensor) if storage is None else self._counted(tensor, storage)[0]
                self._forget(known)

    def reserve(self, tensor: Any, memory: Any) -> tuple[int, int]:
        """Number a tensor that is not known yet, and its memory; a note must follow that fills its row."""
        key, place, known, memories, rows = id(tensor), id(memory), self._known, self._memories, self._rows
        with self._lock:  # as ``_memory_number`` and ``_enter``, of which the calls would take as long as what they do
            if memories.references.get(place, _GONE)() is memory:
                storage = memories.numbers[place]
            else:
                memories.numbers[place] = storage = self._next_storage
                self._next_storage = storage + 1
                memories.references[place] = _ref(memory)
            known.numbers[key] = number = len(rows)
            rows.append(None)
            known.references[key] = _ref(tensor)
            if len(known.numbers) > self._most:
                self._throw_out()
        return number, storage

    def fill(self) -> None:
        """Fill the rows that were reserved for notes which could not be taken."""
        with self._lock:
            self._rows[:] = [TensorFacts() if row is None else row for row in self.rows]

    def _memory_number(self, memory: Any) -> int:
        """Return the number of memory by its owner, the next one if it is new."""
        number = self._memories.enter(memory, self._next_storage)
        if number == self._next_storage:
            self._next_storage += 1
        return number

    def _enter(self, tensor: Any, number: int, facts: TensorFacts | None, reference: weakref.ref[Any]) -> None:
        """Enter a tensor."""
        self._rows.append(facts)
        known, key = self._known, id(tensor)
        known.numbers[key] = number
        known.references[key] = reference
        if len(known.numbers) > self._most:
            self._throw_out()

    def _counted(self, tensor: Any, storage: Hashable) -> tuple[_Reference, int]:
        """Count a tensor to the memory that a key stands for, and return the number of that."""
        entry = self._storages.get(storage)
        if entry is None:
            entry = self._storages[storage] = [self._next_storage, 0]
            self._next_storage += 1
        entry[1] += 1
        reference = _Reference(tensor, self._forget)
        reference.storage = storage
        return reference, entry[0]

    def _throw_out(self) -> None:
        """Forget who has died."""
        self._known.throw_out()
        self._memories.throw_out()
        self._most = 2 * len(self._known.numbers) + _DEAD

    def living(self, number: int) -> Any:
        """Return the tensor of a number, None if it has died; looks through all that live."""
        found = (reference() for reference, row in self._known.pairs() if row == number)
        return next(found, None)

    def storage(self, key: Hashable) -> int | None:
        """Return the number of memory with this key that a known tensor has."""
        entry = self._storages.get(key)
        return None if entry is None else entry[0]

    def memory(self, owner: Any) -> int | None:
        """Return the number of the memory that an object owns, if a known tensor had it."""
        return self._memories.find(owner)

    def name(self, tensor: Any, name: str, *, parameter: bool = False) -> None:
        """Give a known tensor a better name than it has; that of a parameter stays."""
        number = self.known(tensor)
        if number is not None:
            facts = self.entered(number)
            if parameter or not facts.parameter:
                facts.name, facts.parameter = name, parameter

    def unnamed_leaves(self) -> list[Any]:
        """Return the living leaves that require a gradient, are no parameters, and were not returned before."""
        entered, asked, numbers = self._rows, self._asked, self._known.numbers
        found: list[Any] = []
        for key, reference in list(self._known.references.items()):
            number = numbers.get(key)
            if number is None or number in asked:
                continue
            facts: TensorFacts | None = entered[number]
            if facts is None:
                facts = self.rows[number]
            if facts.requires_grad and facts.leaf and not facts.parameter:
                tensor = reference()
                if tensor is not None:
                    asked.add(number)
                    found.append(tensor)
        return found

    def close(self) -> None:
        """Forget all tensors, and leave the rows, which say now who was still alive."""
        for reference, number in self._known.pairs():
            if self.rows[number] is None:  # a program that was interrupted while a note was taken leaves a row without
                self.fill()
            self.rows[number].kept = reference() is not None
        with self._lock:  # other threads may go on
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
