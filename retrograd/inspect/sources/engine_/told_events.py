"""Events whose operands are named, and whose results are said to be made by them, when somebody reads.

Names and makers of tensors stand in rows that notes fill; to look into these on the way would make all events so far,
while the program waits.
"""

from __future__ import annotations

from ...events import Event
from ...journal import Note, Rows
from ...shared_parts import shared_texts
from .calls.names import named_by


def event_as_told(note: Note, row: int, rows: Rows) -> Event:
    """Complete an event by the texts of its line, the numbers of the operands, and what it made; ``Maker``."""
    event: Event
    _, event, texts, numbers, made = note
    event.data["names"] = shared_texts(named_by(texts, numbers, (), rows))
    for number in made:
        if rows[number].made_by is None and number not in numbers:
            rows[number].made_by = row
    return event
