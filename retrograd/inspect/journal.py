"""``Journal``: the events of a recording under way, many of which are only noted, and made when somebody reads.

A watched program waits while it is recorded, so a source may write down what it saw as a tuple, a *note*: numbers,
texts, and what several notes share.  The event, and the rows of tensors that came up with it, are made in the order
of the notes as soon as events or tensors are read, by whomever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..locks import reentrant_lock
from .events import Event
from .tensor_facts import TensorFacts

Note = tuple[Any, ...]
"""What makes the event, a ``Maker``, and behind it the facts."""
Maker = Callable[[Note, int, list[TensorFacts]], Event]
"""Gets a note, the row of its event and the rows of all tensors, of which it fills those that the note is to fill."""


class Journal:
    """The events and the rows of tensors of one recording, notes among them."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        """Events and notes, in the order in which things happened."""
        self.rows: list[Any] = []
        """Rows of tensors; None for those that a note is going to fill."""
        self._made = 0
        """Entries that are events, from the beginning."""
        self._lock = reentrant_lock()
        self._making = False

    def add(self, event: Event) -> int:
        """Add an event, and return its row; other threads may add notes meanwhile."""
        entries = self.entries
        entries.append(event)
        row = len(entries) - 1
        while entries[row] is not event:
            row -= 1
        return row

    def read(self, last: bool = False) -> tuple[list[Event], list[TensorFacts]]:
        """Return all events and the rows of all tensors, made.

        The last ones are apart from the journal: a thread of the program that runs on may still note what it saw.
        """
        self.settle()
        if not last:
            return self.entries, self.rows
        return self.entries[: self._made], [TensorFacts() if row is None else row for row in self.rows]

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

    def _make(self) -> None:
        entries, rows = self.entries, self.rows
        for row in range(self._made, len(entries)):
            entry = entries[row]
            if entry.__class__ is tuple:
                entries[row] = entry[0](entry, row, rows)
            self._made = row + 1
