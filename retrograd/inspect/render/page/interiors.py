"""Where the cards of every box stand while all boxes in it are closed, and how the lines between them run.

Each box is laid out by itself, so the page only has to make room when a box in it opens.  All coordinates are
whole pixels from the top left corner of the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrograd.inspect.layout import Layout, Point, Size, coarse, layered
from retrograd.inspect.layout.text_size import text_width
from retrograd.inspect.render import labels
from retrograd.inspect.snapshot import GraphSnapshot

from .groups import Groups
from .links import ENTRY, EXIT, Links

_CAREFUL = 12_000
"""Cards of one box up to which lines are routed and crossings reduced."""
_LABEL_SIZE = 9.5
_BRIM = 16
"""Space between the edge of an open box and the cards in it, above and below."""

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Interiors:
    """Places of all cards (nodes, then boxes), ports and sizes of all boxes, and the shapes of all links."""

    x: Ints
    y: Ints
    width: Ints
    height: Ints
    """Of boxes: while they are closed."""
    inner_width: Ints
    inner_height: Ints
    entry: Ints
    """Where gradients come into each box, from its left edge."""
    exit: Ints
    pieces: Ints
    """Bezier pieces of every link; 0 for a line from the middle of one card to the middle of the other."""
    points: Ints
    """Their points, x and y in turn: first point, then three a piece, each relative to the one before."""


def interiors_of(snapshot: GraphSnapshot, groups: Groups, links: Links, sizes: list[Size]) -> Interiors:
    """Lay out every box; ``sizes`` are those of the cards of all nodes and then of all boxes, closed."""
    made = _empty(len(sizes), len(groups), len(links.box), sizes)
    parents = np.asarray([*groups.of_node, -2, *groups.parents[1:]], dtype=np.int64)
    order = np.argsort(parents, kind="stable")
    bounds = np.searchsorted(parents[order], np.arange(len(groups) + 1))
    link_bounds = np.searchsorted(links.box, np.arange(len(groups) + 1))
    local = np.empty(len(sizes) + 2, dtype=np.int64)
    shapes = []
    for box in range(len(groups)):
        cards = order[bounds[box] : bounds[box + 1]]
        rows = slice(int(link_bounds[box]), int(link_bounds[box + 1]))
        local[cards] = np.arange(len(cards))
        local[ENTRY], local[EXIT] = len(cards), len(cards) + 1
        inside = _Inside(box, cards, local[links.source[rows]], local[links.target[rows]], rows)
        if len(cards) > _CAREFUL:
            _place_coarsely(made, inside, sizes)
        else:
            shapes.append(_place(made, inside, sizes, snapshot, links))
    made.points = np.concatenate(shapes) if shapes else np.zeros(0, dtype=np.int64)
    return made


@dataclass(slots=True)
class _Inside:
    """One box to be laid out: its cards, and its links between the numbers of cards in it (then entry, exit)."""

    box: int
    cards: Ints
    sources: Ints
    targets: Ints
    links: slice


def _empty(cards: int, boxes: int, links: int, sizes: list[Size]) -> Interiors:
    """Return what all boxes write their part into."""

    def zeros(count: int) -> Ints:
        return np.zeros(count, dtype=np.int64)

    widths, heights = np.asarray(sizes, dtype=np.float64).reshape(cards, 2).T.astype(np.int64)
    return Interiors(
        x=zeros(cards),
        y=zeros(cards),
        width=widths,
        height=heights,
        inner_width=zeros(boxes),
        inner_height=zeros(boxes),
        entry=zeros(boxes),
        exit=zeros(boxes),
        pieces=zeros(links),
        points=zeros(0),
    )


def _place_coarsely(made: Interiors, inside: _Inside, sizes: list[Size]) -> None:
    """Place very many cards; lines run straight."""
    count = len(inside.cards)
    own = (inside.sources < count) & (inside.targets < count)
    cards = [sizes[card] for card in inside.cards.tolist()]
    found = coarse.layout(cards, inside.sources[own].tolist(), inside.targets[own].tolist())
    made.x[inside.cards], made.y[inside.cards] = found.x, found.y
    made.inner_width[inside.box], made.inner_height[inside.box] = round(found.width), round(found.height)
    made.entry[inside.box] = made.exit[inside.box] = round(found.width / 2)


def _place(made: Interiors, inside: _Inside, sizes: list[Size], snapshot: GraphSnapshot, links: Links) -> Ints:
    """Place the cards of one box with the layered layout; return the points of its lines."""
    ported = inside.box > 0
    cards = [*(sizes[card] for card in inside.cards.tolist()), *([Size(2.0, 2.0)] * 2 * ported)]
    graph = _graph(len(cards), inside, ported)
    widths = [
        text_width(_label(snapshot, links, row), _LABEL_SIZE) for row in range(inside.links.start, inside.links.stop)
    ]
    found = layered.layout(graph, cards, widths)
    boxes = np.asarray(found.boxes, dtype=np.float64).reshape(len(cards), 4)
    count = len(inside.cards)
    top, height = _cropped(boxes[:count]) if ported else (0, round(found.height))
    made.x[inside.cards], made.y[inside.cards] = np.round(boxes[:count, 0]), np.round(boxes[:count, 1]) - top
    made.inner_width[inside.box], made.inner_height[inside.box] = round(found.width), height
    if ported:
        made.entry[inside.box], made.exit[inside.box] = np.round(boxes[count:, 0] + 1)
    made.pieces[inside.links], points = _shape(found, top)
    return points


def _cropped(boxes: NDArray[np.float64]) -> tuple[int, int]:
    """Return where a box begins and how tall it is when the rows of its ports lie on its edges."""
    top = round(float(boxes[:, 1].min())) - _BRIM
    return top, round(float((boxes[:, 1] + boxes[:, 3]).max())) + _BRIM - top


def _graph(count: int, inside: _Inside, ported: bool) -> GraphSnapshot:
    """Return the cards of one box as a graph that can be laid out."""
    edges = len(inside.sources)
    return GraphSnapshot(
        op=[""] * count,
        edge_source=inside.sources.tolist(),
        edge_target=inside.targets.tolist(),
        edge_input_nr=[0] * edges,
        edge_output_nr=[0] * edges,
        roots=[count - 2] if ported else [],
    )


def _label(snapshot: GraphSnapshot, links: Links, row: int) -> str:
    """Return what the page writes at a link: the shape of its gradient, or how many edges it stands for."""
    return f"{links.count[row]} edges" if links.count[row] > 1 else labels.edge_text(snapshot, int(links.edge[row]))


def _shape(layout: Layout, top: int) -> tuple[Ints, Ints]:
    """Return how many Bezier pieces each line has, and the points of all, counted from ``top``."""
    pieces = np.asarray([len(points) // 3 for points in layout.edges], dtype=np.int64)
    flat: list[Point] = [point for points in layout.edges for point in points]
    places = np.round(np.asarray(flat, dtype=np.float64).reshape(len(flat), 2)).astype(np.int64)
    moves = np.diff(places, axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    starts = np.concatenate(([0], np.cumsum(3 * pieces + 1)[:-1])).astype(np.int64)
    if len(places):
        moves[starts] = places[starts] - (0, top)
    return pieces, moves.reshape(-1)
