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
"""What makes the event, a ``Maker`` or its number, and behind it the facts.

A note of numbers, texts and tuples of these alone is none of those that Python's garbage collector looks through again
and again, so those that are taken most often have a number in place of everything that they share.
"""


class Rows(dict[int, Any]):
    """What is known of each tensor, by number; where a note is going to fill it in, the number of its memory alone."""

    def __missing__(self, number: int) -> TensorFacts:
        """Return a substitute for a tensor that was dropped; what is written to it is discarded."""
        return TensorFacts()

    def facts(self, number: int) -> TensorFacts:
        """Return what is known about a tensor; next to nothing if its note never came."""
        found = self[number]
        return TensorFacts(storage=found) if isinstance(found, int) else found


Maker = Callable[[Note, int, Rows], Event]
"""Gets a note, the row of its event and the rows of all tensors, of which it fills those that the note is to fill."""


class Journal:
    """The events and the rows of tensors of one recording, notes among them."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        """Events and notes, in the order in which things happened, without those that were dropped."""
        self.rows = Rows()
        self.pieces: list[tuple[int, int]] = [(0, 0)]
        """Where entries follow one another without a gap: index of the first one, and its row."""
        self._makers: list[Maker] = []
        self._made = 0
        """Entries that are events, from the beginning."""
        self._lock = reentrant_lock()
        self._making = False

    def __len__(self) -> int:
        """How many events there were, with those that were dropped: the row of the next one."""
        index, row = self.pieces[-1]
        return row + len(self.entries) - index

    @property
    def has_gaps(self) -> bool:
        """Whether something was dropped."""
        return self.pieces != [(0, 0)]

    def maker(self, make: Maker) -> int:
        """Return the number by which notes name what makes their events."""
        self._makers.append(make)
        return len(self._makers) - 1

    def add(self, event: Event) -> int:
        """Add an event, and return its row; other threads may add notes meanwhile."""
        entries = self.entries
        entries.append(event)
        place = len(entries) - 1
        while entries[place] is not event:
            place -= 1
        index, row = self.pieces[-1]
        return row + place - index

    def index(self, row: int) -> int:
        """Return the place among the entries of a row that was not dropped."""
        index, first = self.pieces[bisect_right(self.pieces, row, key=itemgetter(1)) - 1]
        return index + row - first

    def drop(self, begin: int, end: int) -> None:
        """Drop the events from one row to before another; none of them was dropped yet, and all are made."""
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
        """Make the events of all notes."""
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
        """Return the events that were made: the entries themselves, unless another thread has added notes meanwhile."""
        return self.entries if self._made == len(self.entries) else self.made()

    def made(self) -> list[Event]:
        """Return the events that were made, apart from the journal: a thread that runs on may still add to that."""
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
