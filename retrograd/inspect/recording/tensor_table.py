"""``TensorTable``: numbers the tensors of a watched program without holding any of them.

A tensor is identified by its ``id`` while a weak reference to it lives, and so is memory, by an object that owns it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress, repeat
from operator import call, is_, itemgetter
from typing import Any

from ...locks import lock
from ..bounded import BoundedDict
from ..program.holders import holder_of
from ..references import Reference
from .journal import Rows
from .memory_parts import LentMemory
from .tensor_facts import TensorFacts

_DEAD = 250
"""Entries of dead tensors kept in addition to as many as are live: scanning for them costs more than they take."""

_MANY = 12
"""Tensors of the shortest list that is remembered: those of an optimizer are asked about several times a step."""

_PILED = 4
"""Number of live results of one line from which on they count as accumulating."""
_LINES = 8
"""Lines for which the holders of results are searched: each search goes through all objects a few times."""


class _Thing:
    """Dies at once."""


_ref: Any = Reference
_GONE: Any = _ref(_Thing())
"""A dead reference, used where there is none, so that no check for None is needed."""
_GONE.number = None


class _Living(dict[int, Any]):
    """References with numbers to objects that live, by ``id``; those to dead ones are removed from time to time."""

    def find(self, thing: Any) -> int | None:
        """Return the number of an object, None if it has none."""
        reference = self.get(id(thing), _GONE)
        return reference.number if reference() is thing else None

    def note(self, thing: Any, number: int) -> None:
        """Give an object a number."""
        reference = _ref(thing)
        reference.number = number
        self[id(thing)] = reference

    def references(self) -> list[Reference]:
        """Return all references, also dead ones."""
        return list(self.values())

    def throw_out(self) -> None:
        """Remove dead objects."""
        for key in list(compress(self, map(is_, map(call, self.values()), repeat(None)))):
            del self[key]


def _nothing() -> None:
    pass


class TensorTable:
    """The entries of ``Recording.tensors`` while a program is recorded."""

    def __init__(self, rows: Rows, settle: Callable[[], None] = _nothing) -> None:
        """``settle`` is called before entries are read, and fills in reserved ones."""
        self._rows = rows
        self._next = 0
        """The number of the next tensor."""
        self._settle = settle
        self._lock = lock()
        self._known = _Living()
        self._lists: BoundedDict[tuple[int, int], tuple[list[Reference], list[int | None]]] = BoundedDict(50)
        """Length and first tensor of lists that were asked about -> references to all, and their numbers."""
        self._memories = _Living()
        self._next_storage = 0
        self._most = _DEAD
        """Number of entries above which dead ones are removed."""
        self.lent = LentMemory()
        """Memory that something outside the engine may write to."""
        self._looked = 0
        """Tensors below this number were examined by ``unnamed_leaves``."""
        self._turned: list[int] = []
        """Tensors that began to require a gradient since then."""
        self._begun = 0, 0
        """Event indices of the starts of the last two backward passes."""
        self._asked: set[Any] = set()
        """Lines for whose results holders were searched."""
        self._counted_at: tuple[int, list[int]] = (0, [])
        """Event index of the last count of live tensors, and their numbers."""

    def __len__(self) -> int:
        return self._next

    @property
    def memories(self) -> int:
        """Number of memories so far: the number of the next one."""
        return self._next_storage

    @property
    def rows(self) -> Rows:
        """The facts of each tensor, by number; read only."""
        self._settle()
        return self._rows

    def __getitem__(self, number: int) -> TensorFacts:
        facts: TensorFacts = self.rows[number]
        return facts

    def entered(self, number: int) -> TensorFacts:
        """Return the facts of a tensor when it was numbered, from its note if that has not been read yet."""
        facts: TensorFacts | int = self._rows[number]
        return self[number] if isinstance(facts, int) else facts

    def view_of(self, number: int) -> int | None:
        """Return the tensor of which a tensor is a view or alias; None if its note has not been read yet."""
        facts: TensorFacts | int = self._rows[number]
        return None if isinstance(facts, int) else facts.view_of

    def memory_of(self, number: int) -> int | None:
        """Return the number of a tensor's memory, None if it has none; makes no events."""
        facts: TensorFacts | int = self._rows[number]
        return facts if isinstance(facts, int) else facts.storage

    def known(self, tensor: Any) -> int | None:
        """Return the number of a tensor, None if it was not seen."""
        reference = self._known.get(id(tensor), _GONE)  # as ``find``
        number: int | None = reference.number if reference() is tensor else None
        return number

    def numbers(self, tensors: Sequence[Any]) -> list[int | None]:
        """Return the number of each tensor, None for unknown ones."""
        if len(tensors) >= _MANY:
            return self._numbers_of_list(tensors)
        return self._look_up(tensors)

    def _numbers_of_list(self, tensors: Sequence[Any]) -> list[int | None]:
        """Return the numbers of many, which mostly were asked for in this order before."""
        key = len(tensors), id(tensors[0])
        known = self._lists.get(key)
        if known is not None and all(map(is_, map(call, known[0]), tensors)):
            return known[1].copy()
        found, reference_of = self._look_up(tensors), self._known.get
        references = [reference_of(id(tensor), _GONE) for tensor in tensors]
        if None not in found:
            self._lists[key] = references, found.copy()
        return found

    def _look_up(self, tensors: Sequence[Any]) -> list[int | None]:
        """Return the numbers of tensors, looked up one by one."""
        get = self._known.get  # as ``find``, of which the calls would take as long as what it does
        return [one.number if (one := get(id(tensor), _GONE))() is tensor else None for tensor in tensors]

    def add(self, tensor: Any, facts: TensorFacts, *, memory: Any = None) -> int:
        """Number a new tensor, and its memory, identified by its owner; None for no memory."""
        with self._lock:
            if memory is not None:
                facts.storage = self._number_memory(memory)
            number = self._next
            self._next = number + 1
            self._rows[number] = facts
            self._known.note(tensor, number)
            if len(self._known) > self._most:
                self._throw_out()
        return number

    def _number_memory(self, owner: Any) -> int:
        """Return the number of a memory, a new one if it was not seen; the caller has the lock."""
        storage = self._memories.find(owner)
        if storage is None:
            storage = self._next_storage
            self._next_storage = storage + 1
            self._memories.note(owner, storage)
        return storage

    def reserve(self, tensor: Any, memory: Any) -> tuple[int, int]:
        """Number a new tensor, and its memory; a note that fills in its facts must follow."""
        known, memories, place = self._known, self._memories, id(memory)
        new = _ref(tensor)
        with self._lock:  # as ``add``, without calls
            owner = memories.get(place, _GONE)
            if owner() is not memory:
                owner = _ref(memory)
                owner.number = self._next_storage
                self._next_storage = owner.number + 1
                memories[place] = owner
            new.number = number = self._next
            self._next = number + 1
            self._rows[number] = storage = owner.number
            known[id(tensor)] = new
            if len(known) > self._most:
                self._throw_out()
        return number, storage

    def fill(self) -> None:
        """Fill in reserved entries whose notes could not be recorded."""
        with self._lock:
            rows = self.rows
            for number in [number for number, facts in rows.items() if isinstance(facts, int)]:
                rows[number] = TensorFacts(storage=rows[number])

    def moved(
        self, tensor: Any, shape: tuple[int, ...], dtype: str, layout: tuple[int, ...] | None, memory: Any
    ) -> None:
        """Note that a tensor got another one's entries, in other memory; update its facts."""
        number = self.known(tensor)
        if number is not None:
            facts = self.entered(number)
            facts.shape, facts.dtype, facts.layout, facts.storage = shape, dtype, layout, None
            if memory is not None:
                with self._lock:
                    facts.storage = self._number_memory(memory)

    def shares(self, owner: Any, storage: int) -> None:
        """Note that an object owns part of a memory that was known through another object."""
        self._memories.note(owner, storage)

    def _throw_out(self) -> None:
        """Remove dead tensors."""
        self._known.throw_out()
        self._memories.throw_out()
        self.lent.storages.intersection_update([one.number for one in self._memories.references()])
        self._most = 2 * len(self._known) + _DEAD

    def living(self, number: int) -> Any:
        """Return the tensor with a number, None if it has died; searches all live ones."""
        found = (reference() for reference in self._known.references() if reference.number == number)
        return next(found, None)

    def living_in(self, memory: int) -> tuple[int | None, Any]:
        """Return the first live tensor in a memory, with its number; searches all live ones."""
        rows = self.rows
        known = self._known.references()
        found = [(one.number, one()) for one in known if rows[one.number].storage == memory]
        alive = [(number, tensor) for number, tensor in found if tensor is not None]
        return min(alive, key=itemgetter(0), default=(None, None))

    def memory(self, owner: Any) -> int | None:
        """Return the number of the memory that an object owns, if a known tensor had it."""
        return self._memories.find(owner)

    def name(self, tensor: Any, name: str, *, parameter: bool = False) -> None:
        """Give a known tensor a better name; the name of a parameter stays."""
        number = self.known(tensor)
        if number is not None:
            facts = self.entered(number)
            if parameter or not facts.parameter:
                facts.name, facts.parameter = name, parameter

    def requires_grad(self, number: int) -> None:
        """Note that a tensor requires a gradient from now on, and so is a leaf."""
        self.entered(number).requires_grad = True
        self._turned.append(number)

    def unnamed_leaves(self) -> list[Any]:
        """Return the live leaves that require a gradient, are not parameters, and were not returned before.

        Tensors whose notes have not been read yet are left out.
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
        found = [reference() for reference in self._known.references() if reference.number in wanted]
        return [tensor for tensor in found if tensor is not None]

    def alive(self) -> set[int]:
        """Return the numbers of all tensors that are alive, or were at the last count."""
        living = {reference.number for reference in self._known.references() if reference() is not None}
        return living.union(self._counted_at[1])

    def forget_dead(self, known: dict[int, Any], most: int = 1_000) -> None:
        """Remove dead tensors from a dictionary by number, once it has more than so many entries."""
        if len(known) > most:
            alive = self.alive()
            for number in known.keys() - alive:
                del known[number]

    def begins_run(self, row: int) -> None:
        """Note the event index at which a backward pass begins."""
        self._begun = self._begun[1], row

    def count_living(self, row: int) -> None:
        """Note which tensors are alive at an event, replacing the previous count."""
        self._ask_holders()
        living = [reference.number for reference in self._known.references() if reference() is not None]
        self._counted_at = row, living

    def _ask_holders(self) -> None:
        """Search for the holders of results that outlived their step, several from one line, once per line."""
        rows, lines = self.rows, dict[Any, list[Any]]()
        for reference in self._known.references():
            number, living = reference.number, reference()
            facts = rows.facts(number)
            old = facts.made_by is not None and facts.made_by < self._begun[0]
            if old and living is not None and not facts.leaf and facts.source is not None:
                lines.setdefault(facts.source, []).append((number, living))
        for line, living in lines.items():
            if len(living) >= _PILED and line not in self._asked and len(self._asked) < _LINES:
                self._asked.add(line)
                middle = len(living) // 2
                holders = [holder_of(living[place][1]) for place in (middle - 1, middle)]
                if holders[0] != holders[1]:  # one is held by something else as well, as the best so far is
                    holders.append(holder_of(living[middle + 1][1]))
                rows[living[middle][0]].holder = max(holders, key=holders.count)
        lines.clear()

    def close(self) -> None:
        """Forget all tensors, and mark those that are still alive."""
        self._ask_holders()
        for reference in self._known.references():
            if isinstance(self.rows[reference.number], int):  # a program was interrupted while a note was taken
                self.fill()
            self.rows[reference.number].kept = reference() is not None
        row, living = self._counted_at
        rows = self.rows
        for number in living:
            rows.facts(number).lasted = row
        with self._lock:  # other threads may go on
            for table in (self._known, self._memories, self._lists):
                table.clear()
