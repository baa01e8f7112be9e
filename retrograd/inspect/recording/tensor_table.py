"""``TensorTable``: numbers the tensors of a watched program without holding any of them.

A tensor is known by its ``id`` while a weak reference to it lives, and so is memory, by an object that owns it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, compress, repeat
from operator import call, is_, itemgetter
from typing import Any

from ...locks import lock
from ..program.holders import holder_of
from ..references import Reference
from .journal import Rows
from .memory_parts import LentMemory
from .tensor_facts import TensorFacts

_DEAD = 250
"""Entries of dead tensors that are kept at most beside as many as live: looking for them costs more than they take."""

_PILED = 4
"""Number of living results of one line from which on they count as kept."""
_LINES = 8
"""Lines of which it is asked who keeps their results: each takes some looks through all objects."""


class _Living:
    """Numbers of objects as long as they live.

    Reference and number lie in two dictionaries, since a pair of them would be one more object for Python's garbage
    collector to look into.
    """

    def __init__(self) -> None:
        self.references: dict[int, Reference] = {}
        self.numbers: dict[int, int] = {}

    def find(self, thing: Any) -> int | None:
        """Return the number of an object, None if it has none."""
        reference = self.references.get(id(thing))
        return None if reference is None or reference() is not thing else self.numbers.get(id(thing))

    def pairs(self) -> list[tuple[Reference, int]]:
        """Return all references, also dead ones, with their numbers."""
        return [
            (reference, self.numbers[key]) for key, reference in list(self.references.items()) if key in self.numbers
        ]

    def throw_out(self) -> None:
        """Forget who has died."""
        gone = map(is_, map(call, self.references.values()), repeat(None))
        for key in list(compress(self.references, gone)):
            del self.references[key]
            del self.numbers[key]

    def clear(self) -> None:
        """Forget all."""
        self.references.clear()
        self.numbers.clear()


class _Thing:
    """Dies at once."""


_ref: Any = Reference
_GONE: Any = _ref(_Thing())
"""In place of a reference that is not there: it refers to nothing, so no check for None is needed."""


def _nothing() -> None:
    pass


class TensorTable:
    """The rows of ``Recording.tensors`` in the making."""

    def __init__(self, rows: Rows, settle: Callable[[], None] = _nothing) -> None:
        """``settle`` is called before rows are read, and fills those that were only reserved."""
        self._rows = rows
        self._next = 0
        """The number of the next tensor."""
        self._settle = settle
        self._lock = lock()
        self._known = _Living()
        self._memories = _Living()
        self._next_storage = 0
        self._most = _DEAD
        """Entries after which those of the dead are thrown out."""
        self.lent = LentMemory()
        """Memory that may be written by others than the engine, as those who number tensors say."""
        self._looked = 0
        """Tensors below this number were looked at by ``unnamed_leaves``."""
        self._turned: list[int] = []
        """Those that require a gradient since then."""
        self._begun = 0, 0
        """Rows at which the last backward pass but one began, and the last one."""
        self._asked: set[Any] = set()
        """Lines of whose results it was asked who holds them."""
        self._counted_at: tuple[int, list[int]] = (0, [])
        """Row of events at which the living were counted last, and their numbers."""

    def __len__(self) -> int:
        return self._next

    @property
    def memories(self) -> int:
        """How many memories there were: the number of the next one."""
        return self._next_storage

    @property
    def rows(self) -> Rows:
        """What is known of each tensor, by number; read only."""
        self._settle()
        return self._rows

    def __getitem__(self, number: int) -> TensorFacts:
        facts: TensorFacts = self.rows[number]
        return facts

    def entered(self, number: int) -> TensorFacts:
        """Return what was known of a tensor when it was numbered; what notes say of it, if they are to fill its row."""
        facts: TensorFacts | int = self._rows[number]
        return self[number] if isinstance(facts, int) else facts

    def view_of(self, number: int) -> int | None:
        """Return what a tensor is a view or an alias of; those whose rows notes are to fill are none."""
        facts: TensorFacts | int = self._rows[number]
        return None if isinstance(facts, int) else facts.view_of

    def memory_of(self, number: int) -> int | None:
        """Return the number of a tensor's memory, None if it has none; makes no events."""
        facts: TensorFacts | int = self._rows[number]
        return facts if isinstance(facts, int) else facts.storage

    def known(self, tensor: Any) -> int | None:
        """Return the number of a tensor, None if it was not seen."""
        return self._known.find(tensor)

    def numbers(self, tensors: Iterable[Any]) -> list[int | None]:
        """Return what ``known`` does for each of several tensors."""
        reference_of, number_of = self._known.references.get, self._known.numbers.get
        found: list[int | None] = []
        for tensor in tensors:  # as ``find``, of which the calls would take as long as what it does
            key = id(tensor)
            found.append(number_of(key) if reference_of(key, _GONE)() is tensor else None)
        return found

    def add(self, tensor: Any, facts: TensorFacts, *, memory: Any = None) -> int:
        """Number a tensor that is not known yet, and its memory, identified by its owner; None for none."""
        key, place, known, memories, rows = id(tensor), id(memory), self._known, self._memories, self._rows
        with self._lock:  # as ``find``, of which the calls would take as long as what it does
            if memory is not None:
                if memories.references.get(place, _GONE)() is memory:
                    facts.storage = memories.numbers[place]
                else:
                    memories.numbers[place] = facts.storage = self._next_storage
                    self._next_storage += 1
                    memories.references[place] = _ref(memory)
            known.numbers[key] = number = self._next
            self._next = number + 1
            rows[number] = facts
            known.references[key] = _ref(tensor)
            if len(known.numbers) > self._most:
                self._throw_out()
        return number

    def reserve(self, tensor: Any, memory: Any) -> tuple[int, int]:
        """Number a tensor that is not known yet, and its memory; a note must follow that fills its row."""
        key, place, known, memories, rows = id(tensor), id(memory), self._known, self._memories, self._rows
        with self._lock:  # as ``add``
            if memories.references.get(place, _GONE)() is memory:
                storage = memories.numbers[place]
            else:
                memories.numbers[place] = storage = self._next_storage
                self._next_storage = storage + 1
                memories.references[place] = _ref(memory)
            known.numbers[key] = number = self._next
            self._next = number + 1
            rows[number] = storage
            known.references[key] = _ref(tensor)
            if len(known.numbers) > self._most:
                self._throw_out()
        return number, storage

    def fill(self) -> None:
        """Fill the rows that were reserved for notes which could not be taken."""
        with self._lock:
            rows = self.rows
            for number in [number for number, facts in rows.items() if isinstance(facts, int)]:
                rows[number] = TensorFacts(storage=rows[number])

    def moved(
        self, tensor: Any, shape: tuple[int, ...], dtype: str, layout: tuple[int, ...] | None, memory: Any
    ) -> None:
        """A tensor has got the entries of another one, in other memory: what is known of it is as of now."""
        number = self.known(tensor)
        if number is not None:
            facts = self.entered(number)
            facts.shape, facts.dtype, facts.layout, facts.storage = shape, dtype, layout, None
            if memory is not None:
                facts.storage = self._memories.find(memory)
                if facts.storage is None:
                    with self._lock:
                        self._memories.numbers[id(memory)] = facts.storage = self._next_storage
                        self._next_storage += 1
                        self._memories.references[id(memory)] = _ref(memory)

    def shares(self, owner: Any, storage: int) -> None:
        """What an object owns is part of other memory, to which another object had led."""
        self._memories.numbers[id(owner)] = storage
        self._memories.references[id(owner)] = _ref(owner)

    def _throw_out(self) -> None:
        """Forget who has died."""
        self._known.throw_out()
        self._memories.throw_out()
        self.lent.storages.intersection_update(self._memories.numbers.values())
        self._most = 2 * len(self._known.numbers) + _DEAD

    def living(self, number: int) -> Any:
        """Return the tensor of a number, None if it has died; looks through all that live."""
        found = (reference() for reference, row in self._known.pairs() if row == number)
        return next(found, None)

    def living_in(self, memory: int) -> tuple[int | None, Any]:
        """Return the first tensor that lies in a memory and lives, with its number; looks through all that live."""
        rows = self.rows
        found = [(number, reference()) for reference, number in self._known.pairs() if rows[number].storage == memory]
        alive = [(number, tensor) for number, tensor in found if tensor is not None]
        return min(alive, key=itemgetter(0), default=(None, None))

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

    def requires_grad(self, number: int) -> None:
        """A tensor requires a gradient from now on, and is a leaf then, whatever it was when first seen."""
        self.entered(number).requires_grad = True
        self._turned.append(number)

    def unnamed_leaves(self) -> list[Any]:
        """Return the living leaves that require a gradient, are no parameters, and were not returned before.

        Those whose rows notes are to fill are none.
        """
        turned, self._turned = self._turned, []
        begin, self._looked = self._looked, self._next
        wanted: set[int] = set()
        for number in chain(turned, range(begin, self._looked)):
            facts = self._rows[number]
            if not isinstance(facts, int) and facts.requires_grad and facts.leaf and not facts.parameter:
                wanted.add(number)
        if not wanted:
            return []
        references, numbers = self._known.references, list(self._known.numbers.items())
        found = [references.get(key, _GONE)() for key, number in numbers if number in wanted]
        return [tensor for tensor in found if tensor is not None]

    def alive(self) -> set[int]:
        """Return the numbers of all tensors that live, or lived when they were counted last."""
        living = {number for reference, number in self._known.pairs() if reference() is not None}
        return living.union(self._counted_at[1])

    def forget_dead(self, known: dict[int, Any], most: int = 1_000) -> None:
        """Take tensors that have died out of a dictionary by number, once it holds more than so many."""
        if len(known) > most:
            alive = self.alive()
            for number in known.keys() - alive:
                del known[number]

    def begins_run(self, row: int) -> None:
        """Remember the event index at which a backward pass begins."""
        self._begun = self._begun[1], row

    def count_living(self, row: int) -> None:
        """Remember who lives now, at a row of events, in place of who did when they were counted before."""
        self._ask_holders()
        self._counted_at = row, [number for reference, number in self._known.pairs() if reference() is not None]

    def _ask_holders(self) -> None:
        """Ask who holds results of which several of one line have outlived their step, once for each line."""
        rows, lines = self.rows, dict[Any, list[Any]]()
        for reference, number in self._known.pairs():
            facts, living = rows.facts(number), reference()
            old = facts.made_by is not None and facts.made_by < self._begun[0]
            if old and living is not None and not facts.leaf and facts.source is not None:
                lines.setdefault(facts.source, []).append((number, living))
        for line, living in lines.items():
            if len(living) >= _PILED and line not in self._asked and len(self._asked) < _LINES:
                self._asked.add(line)
                middle = len(living) // 2
                told = [holder_of(living[place][1]) for place in (middle - 1, middle)]
                if told[0] != told[1]:  # one is held by something else as well, as the best so far is
                    told.append(holder_of(living[middle + 1][1]))
                rows[living[middle][0]].holder = max(told, key=told.count)
        lines.clear()

    def close(self) -> None:
        """Forget all tensors, and leave the rows, which say now who was still alive."""
        self._ask_holders()
        for reference, number in self._known.pairs():
            if isinstance(self.rows[number], int):  # a program was interrupted while a note was taken
                self.fill()
            self.rows[number].kept = reference() is not None
        row, living = self._counted_at
        rows = self.rows
        for number in living:
            rows.facts(number).lasted = row
        with self._lock:  # other threads may go on
            for table in (self._known, self._memories):
                table.clear()
