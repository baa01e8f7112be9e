"""Events whose operand names and producers are filled in on first read.

Names and producers come from notes; looking them up while the program runs would make all events so far, and the
program would wait.
"""

from __future__ import annotations

from ...recording.events import Event
from ...recording.journal import Note, Rows
from ...recording.shared_parts import shared_texts
from .calls.names import named_by


def completed_event(note: Note, row: int, rows: Rows) -> Event:
    """Complete an event by the texts of its line, the numbers of the operands, and its results; a ``Maker``."""
    event: Event
    _, event, texts, numbers, made = note
    event.data["names"] = shared_texts(named_by(texts, numbers, (), rows))
    for number in made:
        if rows[number].made_by is None and number not in numbers:
            rows[number].made_by = row
    return event
