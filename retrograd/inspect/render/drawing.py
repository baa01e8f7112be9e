"""Turns a scene into the SVG elements of its drawing, for the svg and html renderers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from ...errors import LayoutError, UsageError
from ..graphs.graph import FORWARD_ONLY
from ..graphs.graph_diff import STATUSES
from ..layout import Point, Size, graphviz_, nested
from ..layout.dot_program import has_dot, require_dot
from ..layout.text_size import shortened, text_width
from ..progress import followed
from . import labels
from .base import RenderOptions
from .card_words import frame_ending
from .cards import LABEL_SIZE, Card, make_cards
from .legend import marks_of
from .scale import Scale, scale
from .scene import Scene
from .svg_groups import (
    STOP,
    card_markup,
    edge_group,
    frame_group,
    node_group,
    number,
    path_data,
    text,
    tip,
    tip_name,
)

_BELOW = (17.0, 29.0, 41.0)
"""Possible distances of a label below the start of its line,"""
_ABOVE = (14.0, 26.0)
"""and of one above its end."""
_NEAR_END = 48.0
"""How close to its end a line's label says enough."""
_LABEL_HIGH, _CELL = 11.0, 128.0


class LabelPlaces:
    """Finds a free place for each label of a drawing, on its line near the start."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[tuple[float, float, float]]] = {}
        """Height and place in steps -> labels that reach there: left and right end, and height."""
        self._said: set[tuple[Point, str]] = set()
        """Ports and their labels: lines of one value that leave together have one label."""

    def find(self, points: list[Point], word: str) -> Point | None:
        """Return the place of a label, None where there is none: it would only cover others."""
        return self._free(points[0], word, (_label_point(points, below) for below in _BELOW)) if word else None

    def find_at_end(self, points: list[Point], word: str, other: Point | None) -> Point | None:
        """Return the place of a label at a line's end, None where there is none or the ``other`` one says the same."""
        if not word:
            return None
        x, y = points[-1]
        near = other is not None and abs(other[0] - x) < _NEAR_END and 0 <= y - other[1] < _NEAR_END
        return None if near else self._free((x, y), word, ((x, y - above) for above in _ABOVE))

    def _free(self, port: Point, word: str, places: Iterable[Point]) -> Point | None:
        """Return the first free place; at one port no label is repeated."""
        if (port, word) in self._said:
            return None
        self._said.add((port, word))
        width = text_width(word, LABEL_SIZE)
        for x, y in places:
            row, left, right = round(y / _LABEL_HIGH), x - width / 2 - 2, x + width / 2 + 2
            columns = range(int(left // _CELL), int(right // _CELL) + 1)
            cells = [(row + step, column) for step in (-1, 0, 1) for column in columns]
            near = chain.from_iterable(self._cells.get(cell, ()) for cell in cells)
            if not any(begin < right and left < end and abs(y - at) < _LABEL_HIGH for begin, end, at in near):
                for column in columns:
                    self._cells.setdefault((row, column), []).append((left, right, y))
                return x, y
        return None


def _label_point(points: list[Point], below: float) -> Point:
    """Return a place on a line, so far below its start."""
    goal = points[0][1] + below
    for index in range(0, len(points) - 1, 3):
        p0, p1, p2, p3 = points[index : index + 4]
        if p3[1] < goal and p3[1] > p0[1]:
            continue
        if p0[0] == p1[0] == p2[0] == p3[0]:
            return p0[0], goal
        low, high = 0.0, 1.0
        for _ in range(7):
            middle = (low + high) / 2
            if _bezier(p0[1], p1[1], p2[1], p3[1], middle) < goal:
                low = middle
            else:
                high = middle
        return _bezier(p0[0], p1[0], p2[0], p3[0], low), goal
    return points[-1]


def _bezier(p0: float, p1: float, p2: float, p3: float, t: float) -> float:
    """Return one coordinate of a cubic Bezier curve at ``t``."""
    s = 1 - t
    return s * s * s * p0 + 3 * s * s * t * p1 + 3 * s * t * t * p2 + t * t * t * p3


__all__ = ["Drawing", "check_layout", "draw", "number", "path_data", "text"]

_LABEL_ROOM, _CUT_ROOM = 96.0, 160.0
_MOST_LABELS = 16
"""Edges of one card that still get labels."""
_FRAME_TITLE, _TITLE_ROOM = 12.0, 300.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """The elements of one drawn graph and the room they take."""

    markup: str
    width: float
    height: float
    marks: frozenset[str]
    """What the legend explains."""
    scale: Scale
    note: str = ""
    """What a headline adds about how it was drawn."""
    direction: str = "backward"
    """As ``RenderOptions.direction``, or ``values`` where there are no gradients."""


def draw(scene: Scene, options: RenderOptions, prefix: str = "") -> Drawing:
    """Draw one graph; ``prefix`` keeps the ids of several graphs in one document apart."""
    colours = scale(scene.seen, options.color_by, launched=scene.launched)
    words = _edge_labels(scene)
    widths = [text_width(label, LABEL_SIZE) for label in words]
    cards = make_cards(scene, colours, widths)
    titles = _frame_titles(scene)
    layout, note = _layout(scene, [card.size for card in cards], widths, titles, options.layout)
    statuses = {scene.edge_status(edge) for edge in range(len(words))} if scene.differences else set()
    parts = [
        tip(prefix),
        *([tip(prefix, "back")] if scene.direction == "both" else []),
        *(tip(prefix, status) for status in STATUSES if status in statuses),
        *([tip(prefix, STOP)] if scene.has_cuts else []),
    ]
    parts += _frames(scene, layout, titles, prefix)
    parts += _edges(scene, layout, words, prefix)
    parts += _nodes(scene, layout, cards, prefix)
    marks = marks_of(scene, cards) | statuses - {""}
    direction = "values" if scene.whole.label == FORWARD_ONLY else scene.direction
    return Drawing("\n".join(parts), layout.width, layout.height, marks, colours, note, direction)


def _edge_labels(scene: Scene) -> list[str]:
    """Return the labels of all edges; below a card that sends very many there is no room for any."""
    fan = [0] * len(scene.seen)
    for source in scene.seen.edge_source:
        fan[source] += 1
    return [
        shortened(label, LABEL_SIZE, _CUT_ROOM if scene.is_cut(edge) else _LABEL_ROOM)
        if fan[source] <= _MOST_LABELS
        else ""
        for edge, (label, source) in enumerate(zip(scene.edge_labels, scene.seen.edge_source, strict=True))
    ]


def _frame_titles(scene: Scene) -> list[tuple[str, str]]:
    """Return title and ending of every frame; the first is the sheet and has none."""
    titles = [("", "")]
    for place, frame in enumerate(scene.view.frames[1:], 1):
        ending = frame_ending(scene, place)
        title = labels.clean(scene.view.folded.title(frame.scope))
        titles.append((shortened(title, _FRAME_TITLE, _TITLE_ROOM, bold=True), ending))
    return titles


def check_layout(options: RenderOptions) -> None:
    """Raise ``LayoutError`` if the requested layout is not available on this machine."""
    if options.layout == "dot":
        require_dot(graphviz_.OURS)


def _layout(
    scene: Scene, sizes: list[Size], label_widths: list[float], titles: list[tuple[str, str]], wanted: str
) -> tuple[nested.NestedLayout, str]:
    """Return the requested layout and a remark; ours if Graphviz fails or takes too long."""
    if wanted not in ("layered", "dot"):
        raise UsageError(f"There is no layout {wanted!r}.", "Use 'layered' (built in) or 'dot' (needs Graphviz).")
    note = ""
    if wanted == "dot":
        try:
            return graphviz_.layout(scene.view, sizes), ""
        except LayoutError as failure:
            if not has_dot():
                raise
            note = f" · laid out by retrograd: {failure.message}"
    widths = [
        nested.Title(text_width(title, _FRAME_TITLE, bold=True) + 24.0, text_width(ending, 11) + 12.0)
        if title
        else nested.Title(0.0)
        for title, ending in titles
    ]
    looks = ("", *STATUSES)
    strands = [2 * looks.index(scene.edge_status(edge)) + scene.is_cut(edge) for edge in range(len(label_widths))]
    return nested.layout(scene.view, sizes, label_widths, widths, strands), note


def _frames(scene: Scene, layout: nested.NestedLayout, titles: list[tuple[str, str]], prefix: str) -> list[str]:
    """Return the groups of all open scopes, outer ones first."""
    scopes = scene.view.folded.scopes
    found = []
    depths = [0]
    for number_, frame in enumerate(scene.view.frames):
        if number_:
            depths.append(depths[frame.parent] + 1)
            scope = scopes[frame.scope]
            tooltip = text(f"{scope.path} ({scope.kind}, {len(scope):,} operators)")
            title, ending = titles[number_]
            name = f"{prefix}s{frame.scope}"
            lighter = depths[number_] > 2 and depths[number_] % 2 == 1  # else deep nests would grow darker and darker
            at = layout.endings[number_] if layout.endings else 0.0
            found.append(frame_group(name, layout.frames[number_], (title, ending), tooltip, at, lighter=lighter))
    return found


def _edges(scene: Scene, layout: nested.NestedLayout, words: list[str], prefix: str) -> list[str]:
    """Return the groups of all edges."""
    seen = scene.seen
    spots = _label_spots(scene, layout, words)
    found = []
    for edge, ends in followed(enumerate(zip(seen.edge_source, seen.edge_target, strict=True))):
        status, is_cut = scene.edge_status(edge), scene.is_cut(edge)
        giver = ends[0] if scene.is_forward else ends[1]
        css = "edge cut" if is_cut else "edge beside" if scene.is_aside(edge) else f"edge {status}".rstrip()
        link = f"{prefix}{scene.ids[giver]}" if seen.kind[giver] == "leaf" else ""
        heads = (scene.heads[ends[0]], scene.heads[ends[1]])
        tips = _tips(scene, prefix, STOP if is_cut else status)
        tips = (tips[0], "") if css == "edge beside" else tips
        tooltip = _edge_tooltip(scene, edge, ends)
        found.append(edge_group(heads, layout.edges[edge], spots[edge], tooltip, tips, css, link))
    return found


def _tips(scene: Scene, prefix: str, status: str) -> tuple[str, str]:
    """Return the ids of what stands at an edge's end and at its start: where a gradient stops there is a bar."""
    if not scene.is_forward:
        return tip_name(prefix, status), ""
    if status == STOP:
        return tip_name(prefix), tip_name(prefix, STOP)
    return tip_name(prefix, status), tip_name(prefix, "back") if scene.direction == "both" else ""


def _label_spots(
    scene: Scene, layout: nested.NestedLayout, words: list[str]
) -> list[tuple[tuple[str, Point | None], ...]]:
    """Return the labels of all edges with their places: one at the start, and one for an output at the end."""
    places = LabelPlaces()
    starts = [places.find(points, word) for points, word in zip(layout.edges, words, strict=True)]
    outputs = scene.output_words()
    ends = [places.find_at_end(*known) for known in zip(layout.edges, outputs, starts, strict=True)]
    pairs = zip(words, starts, strict=True), zip(outputs, ends, strict=True)
    return list(zip(*pairs, strict=True))


def _edge_tooltip(scene: Scene, edge: int, ends: tuple[int, int]) -> str:
    """Return what a pointer resting on an edge shows: which input of which box it joins with which output."""
    seen, status = scene.seen, scene.edge_status(edge)
    taker, giver = reversed(ends) if scene.is_forward else ends
    output = f" output {seen.edge_output_nr[edge]}" if seen.edge_output_nr[edge] else ""
    takes, gives = f"{scene.ids[taker]} input {seen.edge_input_nr[edge]}", f"{scene.ids[giver]}{output}"
    way = f"{gives} → {takes}" if scene.is_forward else f"{takes} → {gives}"
    return way + text(scene.via_text(edge)) + f" ({status})" * bool(status)


def _nodes(scene: Scene, layout: nested.NestedLayout, cards: list[Card], prefix: str) -> list[str]:
    """Return the groups of all cards; a leaf's title leads to the operator that uses it."""
    users: dict[int, int] = {}
    for source, target in zip(scene.seen.edge_source, scene.seen.edge_target, strict=True):
        users.setdefault(*((source, target) if scene.is_forward else (target, source)))
    made: dict[tuple[int, int | None, int], str] = {}  # equal cards are one object, and written once
    found = []
    for box, card in followed(enumerate(cards)):
        link = f"{prefix}{scene.ids[users[box]]}" if card.kind == "leaf" and box in users else ""
        key = (id(card), scene.seen.saved_bytes[box], scene.view.boxes[box].copies)
        inside = "" if link else made.get(key, "")
        if not inside:
            tooltip = "\n".join(text(line) for line in scene.tooltip(box) if line)
            row_links = [(prefix + name, prefix + goal if goal else "") for name, goal in scene.row_links(box)]
            inside = made[key] = card_markup(card, tooltip, row_links, link)
        found.append(node_group(f"{prefix}{scene.ids[box]}", layout.boxes[box], card, inside))
    return found
