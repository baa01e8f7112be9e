"""Reads a journal and closes the gaps where steps were dropped: events and tensors are numbered from 0 again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

from .event_data import BY_TENSOR_KEYS, ROW_KEYS, TENSOR_KEYS, TENSOR_OF_NAME_KEYS, TENSORS_KEYS
from .events import Event
from .journal import Journal
from .kept_snapshots import KeptSnapshots
from .kept_steps import Gap, KeptSteps
from .tensor_facts import TensorFacts


class Reader:
    """Reads a journal, as the callback of ``Recording.read_by``."""

    def __init__(self, journal: Journal, steps: KeptSteps | None, graphs: KeptSnapshots) -> None:
        self._journal, self._steps, self._graphs = journal, steps, graphs
        self._state: tuple[int, int] | None = None
        """Numbers of entries and tensors at the last renumbering, and its result."""
        self._found: tuple[list[Event], list[TensorFacts]] = [], []
        self._numbers: dict[int, int] | None = None

    def read(self, last: bool = False) -> tuple[list[Event], list[TensorFacts]]:
        """Return all events and tensors, with notes turned into events.

        The last result is a copy: a thread of the program that still runs may add notes to the journal.
        """
        journal, steps = self._journal, self._steps
        if last and steps is not None:
            steps.finish()
        journal.settle()
        if steps is None or not journal.has_gaps:
            rows = [journal.rows.facts(number) for number in list(journal.rows)]
            return journal.made() if last else journal.events(), rows
        state = len(journal), len(journal.rows)
        if state != self._state or last:
            made = _Renumbering(journal, steps, self._graphs.numbers)
            self._found = made.events(), made.tensors()
            self._state, self._numbers = state, made.numbers
        return self._found

    def number(self, tensor: int) -> int:
        """Return the index of a tensor in the last result."""
        return tensor if self._numbers is None else self._numbers.get(tensor, tensor)


class _Renumbering:
    def __init__(self, journal: Journal, steps: KeptSteps, graphs: list[int]) -> None:
        journal.settle()
        self._journal = journal
        self._entries = journal.made()
        self._pieces = list(journal.pieces)
        self._gaps = dict(steps.gaps())
        self._stand_ins = steps.stand_ins()
        self._begins = [step.begin.tensor for step, _ in self._stand_ins]
        self._memory_begins = [step.begin.memory for step, _ in self._stand_ins]
        self._handles = {
            handle: kept
            for step, like in self._stand_ins
            for handle, kept in zip(step.handles, like.handles, strict=True)
        }
        self._graphs = {number: place for place, number in enumerate(graphs)}
        self._rows = {number: journal.rows.facts(number) for number in sorted(journal.rows)}
        self.numbers = {number: place for place, number in enumerate(self._rows)}
        self._unknown = 0
        self._memories: dict[int, int] = {}
        self._shared: dict[int, tuple[Any, Any]] = {}
        """Objects that several events have, by ``id``, with what is made of them."""

    # -- numbers

    def _row(self, row: int, *, exact: bool) -> int | None:
        """Return the new index of an event; of a dropped one the summary's, or None if ``exact``."""
        place = bisect_right(self._pieces, row, key=itemgetter(1)) - 1
        index, first = self._pieces[place]
        found = index + row - first
        end = self._pieces[place + 1][0] if place + 1 < len(self._pieces) else found + 1
        if found >= end:
            return None if exact else end + place
        return found + place  # behind as many summaries

    def _tensor(self, number: int) -> int:
        """Return the new number of a tensor, or of its substitute."""
        found = self.numbers.get(self._original(number))
        if found is None:  # nothing is known of it any more
            found = self.numbers[number] = len(self._rows) + self._unknown
            self._unknown += 1
        return found

    def _original(self, number: int) -> int:
        """Return the number of the corresponding tensor of a kept step."""
        place = bisect_right(self._begins, number) - 1
        if place < 0:
            return number
        step, like = self._stand_ins[place]
        if number >= step.end.tensor:
            return number
        found = number - step.begin.tensor + like.begin.tensor
        own, other = self._rows.get(number), self._rows.get(found)
        return number if own is not None and other is not None and own.shape != other.shape else found

    def _memory(self, number: int | None) -> int | None:
        if number is None:
            return None
        place = bisect_right(self._memory_begins, number) - 1
        if place >= 0:
            step, like = self._stand_ins[place]
            number += like.begin.memory - step.begin.memory if number < step.end.memory else 0
        return self._memories.setdefault(number, len(self._memories))

    # -- events

    def events(self) -> list[Event]:
        """Return all events, with a summary where some were dropped."""
        found: list[Event] = []
        ends = [index for index, _ in self._pieces[1:]] + [len(self._entries)]
        for (begin, row), end in zip(self._pieces, ends, strict=True):
            if row != begin:
                found.append(self._with_new_numbers(self._gaps.get(row, Gap(0)).event()))
            found += map(self._with_new_numbers, self._entries[begin:end])
        return found

    def _with_new_numbers(self, event: Event) -> Event:
        return Event(event.kind, event.op, event.source, self._data(event.data_once()))

    def _data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return data with new numbers."""
        found = dict(data)
        for key, value in data.items():
            change = _CHANGES.get(key)
            if change is not None and value is not None:
                found[key] = change(self, value)
        return found

    def _list(self, value: Any) -> Any:
        return [None if number is None else self._tensor(number) for number in value]

    def _by_name(self, value: Any) -> Any:
        if type(value) is not dict:
            return value
        known = self._shared.get(id(value))
        if known is None:  # with the object, whose ``id`` nothing else has then
            known = self._shared[id(value)] = value, {name: self._tensor(number) for name, number in value.items()}
        return known[1]

    def _by_tensor(self, value: Any) -> Any:
        if type(value) is not dict:
            return value
        return {str(self._tensor(int(number))): entry for number, entry in value.items()}

    def _row_or_summary(self, value: Any) -> Any:
        return self._row(value, exact=False)

    def _handle(self, value: Any) -> Any:
        return self._handles.get(value, value)

    def _graph(self, value: Any) -> Any:
        return self._graphs.get(value)

    # -- tensors

    def tensors(self) -> list[TensorFacts]:
        """Return the facts of all tensors, including those that only events mention."""
        found = list(map(self._facts, self._rows.values()))
        return found + [TensorFacts() for _ in range(self._unknown)]

    def _facts(self, facts: TensorFacts) -> TensorFacts:
        made, lasted = facts.made_by, facts.lasted
        return replace(
            facts,
            made_by=None if made is None else self._row(made, exact=True),
            lasted=None if lasted is None else self._row(lasted, exact=False),
            view_of=None if facts.view_of is None else self._tensor(facts.view_of),
            storage=self._memory(facts.storage),
        )


_CHANGES: dict[str, Callable[[_Renumbering, Any], Any]] = {
    **dict.fromkeys(TENSOR_KEYS, _Renumbering._tensor),
    **dict.fromkeys(TENSORS_KEYS, _Renumbering._list),
    **dict.fromkeys(TENSOR_OF_NAME_KEYS, _Renumbering._by_name),
    **dict.fromkeys(BY_TENSOR_KEYS, _Renumbering._by_tensor),
    **dict.fromkeys(ROW_KEYS, _Renumbering._row_or_summary),
    "snapshot": _Renumbering._graph,
    "handle": _Renumbering._handle,
}
