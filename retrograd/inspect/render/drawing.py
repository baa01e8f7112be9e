"""From a snapshot to the SVG elements of its drawing, shared by the svg and html renderers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from retrograd.errors import UsageError
from retrograd.inspect.layout import Box, Layout, Point, Size, graphviz_, layered
from retrograd.inspect.layout.text_size import shortened, text_width
from retrograd.inspect.snapshot import GraphSnapshot

from . import labels
from .base import RenderOptions
from .cards import LABEL_SIZE, PAD, Picture, Scale, pictures, scale

_QUOTE = {'"': "&quot;"}
_LABEL_ROOM = 96.0
_MARGIN = 24.0
_MOST_LABELS = 16
"""Edges of one card that still get labels."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The elements of one drawn graph and the room they take."""

    markup: str
    width: float
    height: float
    kinds: frozenset[str]
    """Kinds of cards that occur, for the legend."""
    scale: Scale


def draw(snapshot: GraphSnapshot, options: RenderOptions, prefix: str = "") -> Drawing:
    """Draw one graph; ``prefix`` keeps the ids of several graphs in one document apart."""
    colours = scale(snapshot, options.color_by)
    texts = _edge_texts(snapshot)
    widths = [text_width(text, LABEL_SIZE) for text in texts]
    cards = pictures(snapshot, colours, widths)
    layout = _layout(snapshot, [card.size for card in cards], widths, options.layout)
    parts = [_tip(prefix)]
    parts += [_edge(snapshot, edge, layout.edges[edge], texts[edge], prefix) for edge in range(snapshot.edge_count)]
    parts += [_node(snapshot, node, layout.boxes[node], cards[node], prefix) for node in range(len(snapshot))]
    kinds = frozenset(card.css.split()[1] for card in cards)
    return Drawing("\n".join(parts), layout.width, layout.height, kinds, colours)


def _edge_texts(snapshot: GraphSnapshot) -> list[str]:
    """Return the labels of all edges; below a card that sends very many there is no room for any."""
    fan = [0] * len(snapshot)
    for source in snapshot.edge_source:
        fan[source] += 1
    return [
        shortened(labels.edge_text(snapshot, edge), LABEL_SIZE, _LABEL_ROOM) if fan[source] <= _MOST_LABELS else ""
        for edge, source in enumerate(snapshot.edge_source)
    ]


def _layout(snapshot: GraphSnapshot, sizes: list[Size], label_widths: list[float], wanted: str) -> Layout:
    """Return the layout that was asked for; Graphviz is only touched when it is."""
    if wanted == "layered":
        return layered.layout(snapshot, sizes, label_widths)
    if wanted == "dot":
        return _with_margin(graphviz_.layout(snapshot, sizes))
    raise UsageError(f"There is no layout {wanted!r}.", "Use 'layered' (built in) or 'dot' (needs Graphviz).")


def _with_margin(layout: Layout) -> Layout:
    """Return a layout that fills its sheet to the edge (Graphviz's do) with a margin around it."""
    boxes = [box._replace(x=box.x + _MARGIN, y=box.y + _MARGIN) for box in layout.boxes]
    edges = [[(x + _MARGIN, y + _MARGIN) for x, y in points] for points in layout.edges]
    return Layout(boxes, edges, layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN)


def number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def text(value: str) -> str:
    """Return a text for use between tags or in a quoted attribute."""
    return escape(labels.clean(value), _QUOTE)


def _tip(prefix: str) -> str:
    """Return the arrow head."""
    return (
        f'<defs><marker id="{prefix}tip" viewBox="0 0 10 10" refX="9.5" refY="5" markerWidth="7" markerHeight="7" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 1L10 5L0 9z"/></marker></defs>'
    )


def _node(snapshot: GraphSnapshot, node: int, box: Box, card: Picture, prefix: str) -> str:
    """Return the group of one card."""
    wide, high = number(box.width), number(box.height)
    rows = "".join(_rows(card))
    return (
        f'<g class="{card.css}" id="{prefix}{labels.node_id(node)}" '
        f'transform="translate({number(box.x)} {number(box.y)})">'
        f"<title>{_tooltip(snapshot, node)}</title>"
        f'<rect class="card" width="{wide}" height="{high}" rx="6"/>'
        f'<path class="strip" d="M6 0H4V{high}H6A6 6 0 0 1 0 {number(box.height - 6)}V6A6 6 0 0 1 6 0z"/>'
        f"{rows}</g>"
    )


def _rows(card: Picture) -> Iterator[str]:
    """Yield the text elements of a card."""
    ending = f'<tspan class="m">{text(card.ending)}</tspan>' if card.ending else ""
    yield f'<text class="b" x="{number(PAD)}" y="20">{text(card.title)}{ending}</text>'
    for row, (line, muted) in enumerate(card.lines):
        mark = ' class="m"' if muted else ""
        yield f'<text{mark} x="{number(PAD)}" y="{37 + 15 * row}">{text(line)}</text>'


def _tooltip(snapshot: GraphSnapshot, node: int) -> str:
    """Return what a pointer resting on a card shows: all of it unshortened, the whole path, the saved bytes."""
    card, source = labels.card(snapshot, node), snapshot.source[node]
    saved = labels.bytes_text(snapshot.saved_bytes[node])
    where = f"{source.file}:{source.line} in {source.function}" if source else ""
    lines = [card.op, card.name, card.tensor, card.scope, where, f"{saved} saved for backward" if saved else ""]
    return "\n".join(text(line) for line in lines if line)


def _edge(snapshot: GraphSnapshot, edge: int, points: list[Point], label: str, prefix: str) -> str:
    """Return the group of one edge: what it joins, its line, its label."""
    source, target = snapshot.edge_source[edge], snapshot.edge_target[edge]
    words = f"{labels.node_id(source)} input {snapshot.edge_input_nr[edge]} → {labels.node_id(target)}"
    if snapshot.edge_output_nr[edge]:
        words += f" output {snapshot.edge_output_nr[edge]}"
    x, y = _label_point(points)
    written = f'<text x="{number(x)}" y="{number(y + 3.5)}">{text(label)}</text>' if label else ""
    return (
        f'<g class="edge" data-edge="{source} {target}"><title>{words}</title>'
        f'<path d="{path_data(points)}" marker-end="url(#{prefix}tip)"/>{written}</g>'
    )


def path_data(points: list[Point]) -> str:
    """Return Bezier points as path data, vertical pieces written short."""
    (x, y), *rest = points
    parts = [f"M{number(x)} {number(y)}"]
    for index in range(0, len(rest), 3):
        first, second, end = rest[index : index + 3]
        if first[0] == second[0] == end[0] == x:
            parts.append(f"V{number(end[1])}")
        else:
            parts.append("C" + " ".join(f"{number(a)} {number(b)}" for a, b in (first, second, end)))
        x = end[0]
    return "".join(parts)


def _label_point(points: list[Point]) -> Point:
    """Return the place of an edge's label: on the line, a little below its start."""
    goal = points[0][1] + 17.0
    for index in range(0, len(points) - 1, 3):
        p0, p1, p2, p3 = points[index : index + 4]
        if p3[1] < goal and p3[1] > p0[1]:
            continue
        low, high = 0.0, 1.0
        for _ in range(12):
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
