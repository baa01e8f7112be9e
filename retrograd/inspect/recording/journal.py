"""``Journal``: events of a running recording, many of them stored as notes and turned into events on first read.

A watched program waits while it is recorded, so a source may store what it saw as a tuple, a *note*: numbers, strings,
and an object that several notes share. Events, and the tensors that they introduce, are made in the order of the notes
when events or tensors are first read.

Stretches of events may be dropped while the program runs. Indices of events and numbers of tensors stay the same until
it ends; ``renumbered`` closes the gaps on reading.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from ...locks import reentrant_lock
from .events import Event
from .tensor_facts import TensorFacts

Note = tuple[Any, ...]
"""A ``Maker`` or its number, followed by the facts of which it makes the event.

Python's garbage collector does not track a note that contains only numbers, texts and tuples of these, so the most
frequent notes have a number in place of everything they share.
"""


class Rows(dict[int, Any]):
    """The facts of each tensor, by number; only the number of its memory if a note has yet to fill them in."""

    def __missing__(self, number: int) -> TensorFacts:
        """Return a substitute for a dropped tensor; what is written to it is discarded."""
        return TensorFacts()

    def facts(self, number: int) -> TensorFacts:
        """Return the facts of a tensor; nearly none if its note never came."""
        found = self[number]
        return TensorFacts(storage=found) if isinstance(found, int) else found


Maker = Callable[[Note, int, Rows], Event]
"""Makes an event from a note, its index and the rows of all tensors; also fills in the tensors that the note
introduces."""


class Journal:
    """The events and tensors of one recording, some still as notes."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        """Events and notes in order, without those that were dropped."""
        self.rows = Rows()
        self.pieces: list[tuple[int, int]] = [(0, 0)]
        """Stretches without gaps: position of the first entry, and its event index."""
        self._makers: list[Maker] = []
        self._made = 0
        """How many entries, from the beginning, are events already."""
        self._lock = reentrant_lock()
        self._making = False

    def __len__(self) -> int:
        """Number of events, including dropped ones: the index of the next one."""
        index, row = self.pieces[-1]
        return row + len(self.entries) - index

    @property
    def has_gaps(self) -> bool:
        """Whether events were dropped."""
        return self.pieces != [(0, 0)]

    def maker(self, make: Maker) -> int:
        """Return the number by which notes refer to ``make``."""
        self._makers.append(make)
        return len(self._makers) - 1

    def add(self, event: Event) -> int:
        """Add an event and return its index; other threads may add notes meanwhile."""
        entries = self.entries
        entries.append(event)
        place = len(entries) - 1
        while entries[place] is not event:
            place -= 1
        index, row = self.pieces[-1]
        return row + place - index

    def index(self, row: int) -> int:
        """Return the position among the entries of an event that was not dropped."""
        index, first = self.pieces[bisect_right(self.pieces, row, key=itemgetter(1)) - 1]
        return index + row - first

    def drop(self, begin: int, end: int) -> None:
        """Drop the events with indices from ``begin`` to before ``end``; all are made, and none was dropped before."""
        with self._lock:
            place = bisect_right(self.pieces, begin, key=itemgetter(1)) - 1
            index, row = self.pieces[place]
            first, count = index + begin - row, end - begin
            del self.entries[first : first + count]
            self._made -= count
            following = [(first, end)] + [(index - count, row) for index, row in self.pieces[place + 1 :]]
            if len(following) > 1 and following[1][0] == first:  # nothing is left between two gaps
                del following[0]
            self.pieces[place + (first > index) :] = following

    def settle(self) -> None:
        """Turn all notes into events."""
        if self._made == len(self.entries):
            return
        with self._lock:  # which a handler of signals may get while this thread has it
            if self._making:
                return
            self._making = True
            try:
                self._make()
            finally:
                self._making = False

    def events(self) -> list[Event]:
        """Return the events made so far: the entries themselves, unless another thread has added notes meanwhile."""
        return self.entries if self._made == len(self.entries) else self.made()

    def made(self) -> list[Event]:
        """Return a copy of the events made so far: a thread that still runs may add to the journal."""
        return self.entries[: self._made]

    def _make(self) -> None:
        entries, rows, makers = self.entries, self.rows, self._makers
        index, first = self.pieces[-1]
        for place in range(self._made, len(entries)):
            entry = entries[place]
            if entry.__class__ is tuple:
                make = makers[entry[0]] if entry[0].__class__ is int else entry[0]
                entries[place] = make(entry, place - index + first, rows)
            self._made = place + 1
