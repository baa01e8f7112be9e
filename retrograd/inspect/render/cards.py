"""The cards of a drawing: which lines they show, how large they are, what colour they have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..layout import Size
from ..layout.text_size import shortened, text_width
from ..progress import followed
from . import labels
from .marks import GHOST, Note
from .scale import Scale
from .scene import MOST_ROWS, Scene
from .theme import KINDS

TITLE_SIZE = 13.0
TEXT_SIZE = 11.0
LABEL_SIZE = 9.5
PAD = 12.0
PILE = 8.0
"""How far the lowest card of a pile stands out, to the right and below."""
_ROOM = 300.0
_WIDEST = 900.0
_NARROWEST = 84.0
_BULLET = 11.0


class Line(NamedTuple):
    """One line below a card's title."""

    text: str
    css: str = ""
    """``m`` for muted words, ``w`` for what a finding says, ``c`` for what changed."""
    leaf: int = -1
    """The parameter that the line shows."""


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
    """Whether it is drawn as a pile: it stands for equal blocks."""

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
    """Return what the card of an operator depends on, or ``None`` for one that is like no other."""
    seen, place = scene.seen, scene.view.boxes[box]
    unlike = (scene.root_names, scene.notes)
    if place.scope >= 0 or any(box in those for those in unlike) or place.begin in scene.view.folded.rows:
        return None
    if scene.heads[box] in scene.view.folded.copies or scene.changes(box):
        return None
    words = (seen.op[box], seen.kind[box], seen.name[box], seen.scope[box], seen.shape[box], seen.dtype[box])
    return (*words, seen.source[box], place.frame, below, colours.values[box] if colours.values else None)


def _make_card(scene: Scene, box: int, colours: Scale, below: float, roots: dict[int, str]) -> Card:
    """Return the card of one box."""
    closed = scene.view.boxes[box].scope >= 0
    title, ending, lines = box_words(scene, box, roots.get(box, ""))
    if colours.values and (value := colours.text(colours.values[box])):
        lines.append(Line(value))
    lines += [Line(f"{note.sign} {labels.clean(note.text)}", "w") for note in _notes(scene, box)]
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


def box_words(scene: Scene, box: int, root_name: str = "") -> tuple[str, str, list[Line]]:
    """Return what the card of a box says: title, muted ending, lines below."""
    if scene.view.boxes[box].scope >= 0:
        return _scope_words(scene, box, root_name)
    return _atom_words(scene, box, root_name)


def full_title(scene: Scene, box: int) -> str:
    """Return a box's name where it is looked for by it: an operator's as the engine spells it."""
    card = labels.node_text(scene.seen, box)
    return card.title if scene.view.boxes[box].scope >= 0 or card.title == card.name else card.op


def plain_words(scene: Scene, box: int) -> list[str]:
    """Return the lines of a card as plain text, for formats without looks of their own."""
    _, ending, lines = box_words(scene, box, scene.root_names.get(box, ""))
    title = full_title(scene, box)
    below = [f"● {line.text}" if line.leaf >= 0 else line.text for line in lines]
    return [
        title if title.endswith(ending) else title + ending,  # an operator spelled in full has its ending
        *below,
        *(f"{note.sign} {labels.clean(note.text)}" for note in _notes(scene, box)),
    ]


def _notes(scene: Scene, box: int) -> list[Note]:
    return scene.notes.get(box, [])[:3]


def _kind(scene: Scene, box: int, roots: dict[int, str]) -> str:
    """Return the class that says what a box is."""
    if scene.view.boxes[box].scope >= 0:
        return "closed holds-root" if box in roots else "closed"
    kind = scene.seen.kind[box]
    return "root" if box in roots and kind != GHOST else kind if kind in KINDS else "op"


def _severity(scene: Scene, box: int) -> str:
    """Return the class of a box that findings point at: of the most severe."""
    notes = scene.notes.get(box)
    return f"marked {notes[0].severity}" if notes else ""


def _atom_words(scene: Scene, box: int, root_name: str) -> tuple[str, str, list[Line]]:
    """Return title, ending and lines of an operator or leaf."""
    seen, frame = scene.seen, scene.view.boxes[box].frame
    card = labels.node_text(seen, box)
    named_by_title = card.title == card.name
    inner = _below(card.scope, _frame_path(scene, frame))
    ending = card.op[len(card.title) :] if card.op.startswith(card.title) else ""
    if not scene.plain:
        use = scene.view.folded.use_text(scene.view.boxes[box].begin)
        ending = use or (f" {inner}" if inner and not named_by_title else "")
    name = "" if named_by_title and root_name in ("", card.name) else root_name or card.name
    tensor = ": ".join(part for part in (name, card.tensor) if part)
    # A parameter's full name usually ends its module path; saying both would only make the card wide.
    scope = "" if not scene.plain or (named_by_title and card.scope.replace("/", ".") in card.name) else card.scope
    op = card.op if named_by_title and scene.plain else ""
    source = "" if card.scope and not scene.plain else card.source
    changes = [Line(labels.clean(words), "c") for words in scene.changes(box)]
    lines = [Line(tensor), *changes, Line(op, "m"), Line(scope, "m"), Line(source, "m")]
    return card.title, ending, lines + _parameter_lines(scene, box)


def _parameter_lines(scene: Scene, box: int) -> list[Line]:
    """Return a line for each parameter on a card: its name as its module knows it, and its shape."""
    folded, leaves = scene.view.folded, scene.leaves(box)
    original = folded.original
    lines = []
    for row, leaf in enumerate(leaves[:MOST_ROWS]):
        name = labels.clean(original.name[leaf] or "") or "leaf"
        scope = labels.clean(original.scope[leaf]).replace("/", ".")
        for start in range(len(scope.split("."))):
            around = ".".join(scope.split(".")[start:]) + "."
            if name.startswith(around) and name != around:
                name = name[len(around) :]
                break
        use = folded.use_text(scene.view.boxes[box].begin, row)
        lines.append(Line(f"{name} {labels.shape_text(original.shape[leaf])}{use}", "p", leaf))
    if len(leaves) > MOST_ROWS:
        lines.append(Line(f"… {len(leaves) - MOST_ROWS:,} more", "m"))
    return lines


def _scope_words(scene: Scene, box: int, root_name: str) -> tuple[str, str, list[Line]]:
    """Return title, ending and lines of a closed scope."""
    view = scene.view
    found = view.boxes[box]
    scope = view.folded.scopes[found.scope]
    ending = f"  × {scope.repeats}" if scope.repeats > 1 else ""
    leaves = {leaf for atom in range(found.begin, found.end) for leaf in view.folded.rows.get(atom, ())}
    operators = found.end - found.begin
    counts = f"{operators:,} operator{'s' * (operators != 1)}"
    if leaves:
        held = sum(math.prod(view.folded.original.shape[leaf] or ()) for leaf in leaves)
        counts += f" · {len(leaves):,} parameter{'s' * (len(leaves) != 1)} ({_count_text(held)})"
    tensor = ": ".join(p for p in (root_name, labels.tensor_text(scene.seen.shape[box], scene.seen.dtype[box])) if p)
    return labels.clean(scope.label), ending, [Line(tensor), Line(counts, "m")]


def _count_text(count: int) -> str:
    """Return a count for people: ``640``, ``16.6k``, ``1.2M``."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def _frame_path(scene: Scene, frame: int) -> list[str]:
    """Return the paths that the scopes around a box have, innermost first; every call of a module has its path."""
    found, folded = [], scene.view.folded
    while frame > 0:
        scope = folded.scopes[scene.view.frames[frame].scope]
        if scope.kind == "repeat" and scope.children:
            found += sorted(folded.names(scope.children[0]))
        found += sorted(folded.names(scene.view.frames[frame].scope))
        frame = scene.view.frames[frame].parent
    return found


def _below(path: str, around: list[str]) -> str:
    """Return what of a path lies below the scopes around it."""
    for outer in around:
        outer = labels.clean(outer)
        if path == outer:
            return ""
        if path.startswith(f"{outer}/"):
            return path[len(outer) + 1 :]
    return path
