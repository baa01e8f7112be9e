"""The legend of a drawing: every mark that it uses, and only those, with what it means; the page has the same words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..findings import SEVERITIES
from ..graphs.graph import ASIDE, IDLE, INPUT
from ..graphs.graph_diff import STATUS_WORDS, STATUSES
from ..layout.text_size import text_width
from .card_words import MARKS
from .cards import Card
from .scale import Scale
from .scene import Scene
from .svg_groups import number, text

WORDS: dict[str, str] = {
    "root": "root (backward starts here)",
    "op": "operator",
    "leaf": "parameter or other leaf",
    "row": "parameter that the operator uses",
    IDLE: "parameter without a gradient",
    INPUT: "input",
    ASIDE: "ran without a gradient",
    "place": "2 of 3: the second of 3 places that use it",
    "function": "custom Function",
    "copy": "write into a view",
    "closed": "closed module, function or repeat",
    "frame": "open module, function or repeat",
    "pile": "× n: n equal blocks, drawn once",
    "ghost": "cut off from the graph",
    "cut": "cut: values go on, no gradient comes back",
    "beside": "values that ask for no gradient",
    "counted": "(×n): n edges drawn as one",
    **{status: f"{MARKS[status]} {words}" for status, words in STATUS_WORDS.items()},
    **{severity: f"finding: {severity}" for severity in reversed(SEVERITIES)},
}
"""What each mark means, in the order of the legend."""
TIPS = {
    "backward": {"tip": "direction of gradients"},
    "forward": {"tip": "direction of values"},
    "values": {"tip": "direction of values"},
    "both": {"tip": "values", "tip back": "gradients"},
}
"""What arrow heads mean in each view."""
RESULT = "result"
"""What the root of a graph without gradients is."""
_CARDS = {"root", "op", "leaf", "function", "copy", "closed", "ghost", ASIDE, INPUT, *STATUSES}
_SIZE, _ROW, _GAP = 11.0, 18.0, 18.0
_LEAST = 720.0
"""Width that a legend may have above a narrow drawing."""


class _Entry(NamedTuple):
    """One mark with its meaning."""

    sample: str
    """The mark as SVG elements,"""
    width: float
    """and the room that it takes."""
    words: str


def marks_of(scene: Scene, cards: list[Card]) -> frozenset[str]:
    """Return which marks of ``WORDS`` a drawing uses, apart from those of edges in a comparison."""
    view = scene.view
    frames = view.frames[1:]
    roots = any(card.kind == "closed" and box in scene.root_names for box, card in enumerate(cards))
    found = {
        "root": roots,
        "row": any(line.leaf >= 0 and line.css != IDLE for card in cards for line in card.lines),
        IDLE: any(line.css == IDLE for card in cards for line in card.lines),
        "beside": any(scene.is_aside(edge) for edge in range(len(view.edges))),
        "place": scene.has_places,
        "frame": bool(frames),
        "pile": any(card.stacked for card in cards) or any(frame.repeats > 1 for frame in frames),
        "cut": any(scene.is_cut(edge) for edge in range(len(view.edges))),
        "counted": any(count > 1 for count in view.counts),
    }
    severities = {notes[0].severity for notes in scene.notes.values()}
    kinds = {card.kind for card in cards}
    if scene.differences:
        kinds |= {scene.status_of(line.leaf) for card in cards for line in card.lines if line.leaf >= 0} - {""}
    return frozenset({mark for mark, used in found.items() if used} | kinds | severities)


def legend(marks: frozenset[str], colours: Scale, direction: str, room: float) -> tuple[str, float, float]:
    """Return the legend of a drawing that is so wide, its own width and its height."""
    room = max(room, _LEAST)
    x, y, width = 0.0, 0.0, 0.0
    parts = []
    for sample, wide, words in _entries(marks, colours, direction):
        taken = wide + text_width(words, _SIZE)
        if x and x + taken > room:
            x, y = 0.0, y + _ROW
        parts.append(
            f'<g transform="translate({number(x)} {number(y)})">{sample}'
            f'<text class="m" x="{number(wide)}" y="10">{text(words)}</text></g>'
        )
        width = max(width, x + taken)
        x += taken + _GAP
    return "".join(parts), width, y + _ROW


def _entries(marks: frozenset[str], colours: Scale, direction: str) -> Iterator[_Entry]:
    """Yield the entries of a legend: the colours of a measure, then the marks, then the arrow heads."""
    yield from _heats(colours)
    words = WORDS | ({"root": RESULT} if direction == "values" else {})
    for mark, meaning in words.items():
        if mark in marks:
            yield _Entry(*_sample(mark), meaning)
    for css, meaning in TIPS[direction].items():
        tip = "M0 11L4 1L8 11z" if css.endswith("back") else "M0 1L4 11L8 1z"
        yield _Entry(f'<path class="{css}" d="{tip}"/>', 14.0, meaning)


def _heats(scale: Scale) -> Iterator[_Entry]:
    """Yield what the colours of a measure mean."""
    if not scale.name:
        return
    bounds = scale.bounds()
    yield _Entry("", 0.0, scale.title)
    for step, low in enumerate(bounds):
        yield _Entry(_card(f"heat{step}"), 20.0, "≥ " * (len(bounds) > 1) + scale.text(low))
    if scale.has_odd:
        yield _Entry(_card("odd"), 20.0, "NaN or infinite")


def _sample(mark: str) -> tuple[str, float]:
    """Return a mark as it is drawn, and the room that it takes."""
    if mark in _CARDS:
        return _card(mark), 20.0
    if mark in SEVERITIES:
        return f'<g class="{mark}">{_rectangle("card")}</g>', 20.0
    if mark in ("row", IDLE):
        return f'<circle class="{"dot" if mark == "row" else f"dot {IDLE}"}" cx="5" cy="6" r="3.5"/>', 14.0
    if mark == "frame":
        return _rectangle("frame"), 20.0
    if mark == "pile":
        return f'<g class="closed">{_rectangle("card", 3)}{_rectangle("card")}</g>', 23.0
    if mark == "cut":
        return '<g class="cut"><path d="M0 6H22"/></g><path class="tip stop" d="M21 1H23V11H21z"/>', 29.0
    if mark == "beside":
        return '<g class="beside"><path d="M0 6H23"/></g>', 29.0
    return "", 0.0


def _card(css: str) -> str:
    """Return a small card of a kind."""
    return f'<g class="{css}">{_rectangle("card")}<rect class="strip" width="4" height="12" rx="2"/></g>'


def _rectangle(css: str, at: int = 0) -> str:
    """Return a small rectangle."""
    place = f' x="{at}" y="{at}"' if at else ""
    return f'<rect class="{css}"{place} width="14" height="12" rx="3"/>'
