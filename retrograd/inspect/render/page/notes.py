"""Findings on the cards they concern: the sentence and the fix, wrapped to fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...findings import SEVERITIES, Finding
from ...layout import Size
from ...layout.text_size import text_width, wrapped
from .. import labels
from ..marks import Note
from .structure import safe

_ROOM, _SIZE, _LINE = 226.0, 11.0, 15.0
_SENTENCE, _FIX = 6, 4
"""Lines of each."""
_MOST = 3
"""Findings on one card."""

CardNotes = dict[int, list[list[str]]]
"""Per node what findings say on its card, each the severity and its lines."""


def card_notes(findings: Iterable[Finding], step: int, nodes: int) -> CardNotes:
    """Return what findings say of the nodes of the graph of a step, the most severe first."""
    found: CardNotes = {}
    for finding in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        said = {mark.node: mark.text for mark in reversed(finding.marks) if mark.snapshot == step}
        for node, text in sorted(said.items()):
            notes = found.setdefault(node, []) if 0 <= node < nodes else []
            if len(notes) < _MOST:
                notes.append([finding.severity, *_lines(finding, text)])
    return found


def _lines(finding: Finding, text: str) -> list[str]:
    """Return sentence and fix; a note about the place itself replaces a longer sentence."""
    note = Note(finding.severity, text or finding.message)
    lines = wrapped(f"{note.sign} {labels.clean(note.text)}", _SIZE, _ROOM, _SENTENCE)
    if finding.remedy:
        lines += wrapped(f"Fix: {labels.clean(finding.remedy)}", _SIZE, _ROOM, _FIX)
    return [safe(line) for line in lines]


def note_room(steps: Sequence[CardNotes]) -> dict[int, Size]:
    """Return per node the room on its card that suffices in every one of these steps."""
    room: dict[int, Size] = {}
    for notes in steps:
        for node, said in notes.items():
            lines = [line for one in said for line in one[1:]]
            wide, high = room.get(node, Size(0.0, 0.0))
            widest = max(text_width(line, _SIZE) for line in lines)
            room[node] = Size(max(wide, widest), max(high, _LINE * len(lines) + 8.0))
    return room
