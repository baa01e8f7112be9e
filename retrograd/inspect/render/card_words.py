"""The text on a box's card: a title with a muted ending and lines below it, the same in every format."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..graphs.graph import IDLE
from ..operators import is_view
from . import labels
from .marks import GHOST, Note
from .scene import MOST_ROWS, Scene
from .titles import writes_in_place

_MOST_FED, _LONGEST_FED = 2, 60
"""Words on what feeds the next block: of so many outputs, and no longer than that."""


MARKS = {"operator": "≠", "removed": "−", "added": "+", "shape": "↔", "figures": "≈"}
"""Prefixes of the titles of cards that differ between two graphs."""


class Line(NamedTuple):
    """One line below a card's title."""

    text: str
    css: str = ""
    """``m`` for muted words, ``w`` for what a finding says, ``c`` for what changed."""
    leaf: int = -1
    """The parameter that the line shows."""


def box_words(scene: Scene, box: int, root_name: str = "") -> tuple[str, str, list[Line]]:
    """Return the text of a box's card: title, muted ending, lines below."""
    words = _scope_words if scene.view.boxes[box].scope >= 0 else _atom_words
    title, ending, lines = words(scene, box, root_name)
    mark = MARKS.get(scene.status(box))
    return f"{mark} {title}" if mark else title, ending, lines


def full_title(scene: Scene, box: int) -> str:
    """Return a box's name where it is looked for by it: an operator's as the engine spells it in an unfolded graph."""
    card = labels.node_text(scene.seen, box)
    place, called = scene.view.boxes[box].scope, scene.seen.call[box]
    if place >= 0:
        return labels.clean(scene.view.folded.title(place))
    return card.title if called or card.title == card.name else card.op


def frame_ending(scene: Scene, frame: int) -> str:
    """Return the text after the title of an open scope: for a repeat its count, and what feeds the next block."""
    repeats = scene.view.frames[frame].repeats
    if repeats == 1:
        return ""
    taken: dict[str, list[str]] = {}
    for source, target in scene.view.feeds(frame):  # as gradients go; values go the other way
        taken.setdefault(_short_title(scene, target), []).append(_short_title(scene, source))
    fed = [f"{giver} feeds the next {' and '.join(dict.fromkeys(takers))}" for giver, takers in taken.items()]
    return " · ".join([f"  × {repeats}", *(words for words in fed[:_MOST_FED] if len(words) <= _LONGEST_FED)])


def _short_title(scene: Scene, box: int) -> str:
    """Return what a box is called, without its class."""
    place = scene.view.boxes[box].scope
    return (
        labels.clean(scene.view.folded.scopes[place].label) if place >= 0 else labels.node_text(scene.seen, box).title
    )


def plain_words(scene: Scene, box: int) -> list[str]:
    """Return the lines of a card as plain text, for formats without looks of their own."""
    _, ending, lines = box_words(scene, box, scene.root_names.get(box, ""))
    title = full_title(scene, box)
    below = [f"● {line.text}" if line.leaf >= 0 else line.text for line in lines]
    return [
        title if title.endswith(ending) else title + ending,  # an operator spelled in full has its ending
        *below,
        *(f"{note.sign} {labels.clean(note.text)}" for note in listed_notes(scene, box)),
    ]


def listed_notes(scene: Scene, box: int) -> list[Note]:
    """Return the notes of findings on a box that fit its card, the most severe first."""
    return scene.notes.get(box, [])[:3]


def _atom_words(scene: Scene, box: int, root_name: str) -> tuple[str, str, list[Line]]:
    """Return title, ending and lines of an operator or leaf."""
    seen, frame = scene.seen, scene.view.boxes[box].frame
    card = labels.node_text(seen, box)
    named_by_title = card.title == card.name
    inner = _below(card.scope, _frame_path(scene, frame)).replace("/", ".")
    ending = card.op[len(card.title) :] if card.op.startswith(card.title) else ""
    if not scene.plain:
        use = scene.view.folded.use_text(scene.view.boxes[box].begin)
        ending = use or (f" {inner}" if inner and not named_by_title else "")
    name = "" if named_by_title and root_name in ("", card.name) else root_name or card.name
    tensor = ": ".join(part for part in (name, card.tensor) if part)
    # A parameter's full name usually ends its module path; saying both would only make the card wide.
    scope = "" if not scene.plain or (named_by_title and card.scope.replace("/", ".") in card.name) else card.scope
    op = card.op if named_by_title and scene.plain else ""
    changes = [Line(labels.clean(words), "c") for words in scene.changes(box)]
    lines = [
        Line(tensor),
        *changes,
        Line(_memory_words(scene, box), "m"),
        Line(op, "m"),
        Line(scope, "m"),
        Line(card.source, "m"),
    ]
    return card.title, ending, lines + _parameter_lines(scene, box)


def _memory_words(scene: Scene, box: int) -> str:
    """Return what a call does to memory that others share, in words."""
    if writes_in_place(scene.seen, box):
        return "writes in place"
    return "view" if scene.seen.kind[box] != GHOST and is_view(scene.seen.op[box]) else ""


def _parameter_lines(scene: Scene, box: int) -> list[Line]:
    """Return a line for each parameter on a card: its name as the card's module knows it, and its shape."""
    folded, leaves = scene.view.folded, scene.leaves(box)
    original = folded.original
    lines = []
    for row, leaf in enumerate(leaves[:MOST_ROWS]):
        name = labels.clean(original.name[leaf] or "") or "leaf"
        name = without_module(name, labels.clean(scene.seen.scope[box]))
        use = folded.use_text(scene.view.boxes[box].begin, row)
        mark = MARKS.get(scene.status_of(leaf), "")
        lines.append(
            Line(
                f"{mark} {name} {labels.shape_text(original.shape[leaf])}{use}".lstrip(),
                IDLE if original.kind[leaf] == IDLE else "p",
                leaf,
            )
        )
    if len(leaves) > MOST_ROWS:
        lines.append(Line(f"… {len(leaves) - MOST_ROWS:,} more", "m"))
    return lines


def without_module(name: str, scope: str) -> str:
    """Return a parameter's name as a module around knows it: without the longest end of the module's path before it."""
    parts = scope.replace("/", ".").split(".")
    for start in range(len(parts)):
        around = ".".join(parts[start:]) + "."
        if name.startswith(around) and name != around:
            return name[len(around) :]
    return name


def _scope_words(scene: Scene, box: int, root_name: str) -> tuple[str, str, list[Line]]:
    """Return title, ending and lines of a closed scope."""
    view = scene.view
    found = view.boxes[box]
    scope = view.folded.scopes[found.scope]
    ending = f"  × {scope.repeats}" if scope.repeats > 1 else ""
    together = f"all {scope.repeats}: " if scope.repeats > 1 else ""
    leaves = {leaf for atom in range(found.begin, found.end) for leaf in view.folded.rows.get(atom, ())}
    operators = found.end - found.begin
    counts = f"{together}{operators:,} operator{'s' * (operators != 1)}"
    if leaves:
        held = sum(math.prod(view.folded.original.shape[leaf] or ()) for leaf in leaves)
        counts += f" · {len(leaves):,} parameter{'s' * (len(leaves) != 1)} ({_count_text(held)})"
    tensor = ": ".join(p for p in (root_name, labels.tensor_text(scene.seen.shape[box], scene.seen.dtype[box])) if p)
    original, heads = view.folded.original, view.folded.heads[found.begin : found.end]
    place = labels.lines_text(original.source[head] for head in heads)
    return labels.clean(view.folded.title(found.scope)), ending, [Line(tensor), Line(counts, "m"), Line(place, "m")]


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
    """Return the part of a path below the scopes around it."""
    for outer in around:
        outer = labels.clean(outer)
        if path == outer:
            return ""
        if path.startswith(f"{outer}/"):
            return path[len(outer) + 1 :]
    return path
