"""Sizes and colours of the cards of a drawing; ``card_words`` has their text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..fold.seen import SUMMED
from ..graphs.graph import ASIDE
from ..layout import Size
from ..layout.text_size import shortened, text_width, wrapped
from ..progress import followed
from . import labels
from .card_words import Line, box_words, listed_notes
from .marks import GHOST
from .scale import Scale
from .scene import Scene
from .theme import KINDS

TITLE_SIZE = 13.0
TEXT_SIZE = 11.0
LABEL_SIZE = 9.5
PAD = 12.0
PILE = 8.0
"""Offset of the lowest card of a pile, to the right and below."""
_ROOM = 300.0
_NOTE_LINES = 12
"""Lines that a finding may take on a card."""
_WIDEST = 900.0
_NARROWEST = 84.0
_BULLET = 11.0


@dataclass(frozen=True, slots=True)
class Card:
    """One card to be drawn: a bold title with a muted ending, and lines below."""

    title: str
    ending: str
    lines: tuple[Line, ...]
    css: str
    """Classes of its group."""
    size: Size
    stacked: bool = False
    """Whether it is drawn as a pile: it represents equal blocks."""

    @property
    def kind(self) -> str:
        """The class that says what it is, for the legend."""
        return self.css.split()[1]


def make_cards(scene: Scene, colours: Scale, label_widths: list[float]) -> list[Card]:
    """Return the cards of all boxes, each wide enough for its text and for the labels of the edges it sends."""
    below = [0.0] * len(scene.seen)
    for source, width in zip(scene.seen.edge_source, label_widths, strict=True):
        below[source] += 0.8 * width + 8
    made: dict[tuple[object, ...], Card] = {}
    found = []
    for box in followed(range(len(scene.seen))):
        key = _same_card(scene, box, colours, below[box])
        card = made.get(key) if key else None
        if card is None:
            card = _make_card(scene, box, colours, below[box], scene.root_names)
            if key:
                made[key] = card
        found.append(card)
    return found


def _same_card(scene: Scene, box: int, colours: Scale, below: float) -> tuple[object, ...] | None:
    """Return the key of equal cards for an operator, or ``None`` for one whose card is unique."""
    seen, place = scene.seen, scene.view.boxes[box]
    unlike = (scene.root_names, scene.notes)
    if place.scope >= 0 or any(box in those for those in unlike) or place.begin in scene.view.folded.rows:
        return None
    if scene.heads[box] in scene.view.folded.copies or scene.status(box):
        return None
    words = (seen.op[box], seen.kind[box], seen.name[box], seen.scope[box], seen.shape[box], seen.dtype[box])
    return (*words, seen.source[box], place.frame, below, colours.values[box] if colours.values else None)


def _make_card(scene: Scene, box: int, colours: Scale, below: float, roots: dict[int, str]) -> Card:
    """Return the card of one box."""
    closed = scene.view.boxes[box].scope >= 0
    title, ending, lines = box_words(scene, box, roots.get(box, ""))
    if colours.values and (value := colours.text(colours.values[box])):
        lines.append(Line(value + _of_how_many(scene, box, colours)))
    said = [f"{note.sign} {labels.clean(note.text)}" for note in listed_notes(scene, box)]
    lines += [Line(row, "w") for words in said for row in wrapped(words, TEXT_SIZE, _ROOM, _NOTE_LINES)]
    title = shortened(title, TITLE_SIZE, _ROOM, bold=True)
    ending = shortened(ending, TEXT_SIZE, _ROOM)
    fitting = tuple(line._replace(text=shortened(line.text, TEXT_SIZE, _ROOM)) for line in lines if line.text)
    widths = [text_width(title, TITLE_SIZE, bold=True) + text_width(ending, TEXT_SIZE)]
    widths += [text_width(line.text, TEXT_SIZE) + (_BULLET if line.leaf >= 0 else 0.0) for line in fitting]
    width = min(max(*widths, below, _NARROWEST), _WIDEST) + 2 * PAD
    height = 30.0 + 15.0 * len(fitting) + (2.0 if fitting else 0.0)
    many = closed and scene.view.folded.scopes[scene.view.boxes[box].scope].repeats > 1
    if many:
        width, height = width + PILE, height + PILE
    css = " ".join(part for part in ("node", _kind(scene, box, roots), colours.css(box), _severity(scene, box)) if part)
    return Card(title, ending, fitting, css, Size(math.ceil(width), height), stacked=many)


def _of_how_many(scene: Scene, box: int, colours: Scale) -> str:
    """Return whether the value of a box that represents several blocks is their sum or their maximum."""
    found = scene.view.boxes[box]
    count = found.copies * (scene.view.folded.scopes[found.scope].repeats if found.scope >= 0 else 1)
    if count == 1:
        return ""
    return f" in all {count}" if colours.name in SUMMED else f" at most, of {count}"


def _kind(scene: Scene, box: int, roots: dict[int, str]) -> str:
    """Return the CSS class for the kind of a box; in a comparison, for its status."""
    if status := scene.status(box):
        return status
    if scene.view.boxes[box].scope >= 0:
        return "closed holds-root" if box in roots else ASIDE if scene.is_beside(box) else "closed"
    kind = scene.seen.kind[box]
    return "root" if box in roots and kind != GHOST else kind if kind in KINDS else "op"


def _severity(scene: Scene, box: int) -> str:
    """Return the CSS class for the most severe finding on a box."""
    notes = scene.notes.get(box)
    return f"marked {notes[0].severity}" if notes else ""
