"""Positions of the cards in each box while all boxes in it are closed, and the routes of the lines between them.

Each box is laid out separately, so the page only has to make room when a box in it opens. All coordinates are whole
pixels from the top left corner of the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...fold import Folded
from ...layout import Layout, Point, Size, coarse, layered
from ...layout.net import Net
from ...layout.pages import Screen
from ...layout.text_size import text_width
from ...progress import tick
from .. import labels
from .groups import Groups
from .links import ENTRY, EXIT, Links

_CAREFUL = 12_000
"""Cards of one box up to which lines are routed and crossings reduced."""
_ENDLESS = Screen(float("inf"), float("inf"))
"""What a box may fill: the page itself puts its rows in columns, for it knows which boxes are open."""
_EFFORT = 10_000
"""Cards and links laid out carefully in one graph, outer boxes first; equal boxes are laid out once."""
_LABEL_SIZE = 9.5
_BRIM = 16
"""Space between the edge of an open box and the cards in it, above and below."""

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Interiors:
    """Places of all cards (atoms, then boxes), ports and sizes of all boxes, and the shapes of all links."""

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
    """Twice the Bezier pieces of every link, plus 1 where they bend in their own way; 0 for a line from the middle of
    one card to the middle of the other."""
    points: Ints
    """Their points, x and y in turn, each relative to the one before: where the pieces begin and end, and of bent
    links the controls as well.  Other pieces leave and arrive straight down and turn half way."""


def interiors_of(folded: Folded, groups: Groups, links: Links, sizes: list[Size]) -> Interiors:
    """Lay out every box; ``sizes`` holds the sizes of the cards of all atoms, then of all boxes, closed."""
    made = _empty(len(sizes), len(groups), len(links.box), sizes)
    parents = np.asarray([*groups.of_atom, -2, *groups.parents[1:]], dtype=np.int64)
    order = np.argsort(parents, kind="stable")
    bounds = np.searchsorted(parents[order], np.arange(len(groups) + 1))
    link_bounds = np.searchsorted(links.box, np.arange(len(groups) + 1))
    local = np.empty(len(sizes) + 2, dtype=np.int64)
    layouter = _Layouter(made, sizes)
    for box in range(len(groups)):
        cards = order[bounds[box] : bounds[box + 1]]
        rows = slice(int(link_bounds[box]), int(link_bounds[box + 1]))
        local[cards] = np.arange(len(cards))
        local[ENTRY], local[EXIT] = len(cards), len(cards) + 1
        assert links.output is not None
        ends = local[links.source[rows]], local[links.target[rows]]
        inside = _Inside(box, cards, *ends, links.output[rows], rows)
        columns = [column[rows].tolist() for column in (links.edge, links.count, links.target)]
        tick()
        layouter.place(
            inside,
            [
                labels.edge_text(folded.original, folded.last_edges[edge], count, together=not 0 <= giver < len(folded))
                for edge, count, giver in zip(*columns, strict=True)
            ],
        )
    made.points = np.concatenate([np.zeros(0, dtype=np.int64), *layouter.shapes])
    return made


@dataclass(slots=True)
class _Inside:
    """One box to be laid out: its cards, and its links between the numbers of cards in it (then entry, exit)."""

    box: int
    cards: Ints
    sources: Ints
    targets: Ints
    outputs: Ints
    """Which of several outputs of their target lines lead to: each output has its port."""
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


class _Layouter:
    """Lays out one box after the other."""

    def __init__(self, made: Interiors, sizes: list[Size]) -> None:
        self.made, self.sizes = made, sizes
        self.shapes: list[Ints] = []
        """The points of the lines of all boxes so far."""
        self._effort = _EFFORT
        self._known: dict[tuple[object, ...], tuple[Net, Layout]] = {}

    def place(self, inside: _Inside, texts: list[str]) -> None:
        """Place the cards of one box and shape its lines."""
        cards = [self.sizes[card] for card in inside.cards.tolist()]
        if len(cards) > _CAREFUL or self._effort <= 0:
            self._place_coarsely(inside, cards)
            return
        widths = [text_width(text, _LABEL_SIZE) for text in texts]
        key = (*cards, *widths, inside.sources.tobytes(), inside.targets.tobytes(), inside.outputs.tobytes())
        if key not in self._known:
            net = _net(inside)
            sizes = [*cards, *([Size(0.0, 0.0)] * (len(net) - len(cards)))]
            self._known[key] = net, layered.layout_net(net, sizes, widths, _ENDLESS)
            self._effort -= len(cards) + len(widths)
        self._place_carefully(inside, *self._known[key])

    def _place_coarsely(self, inside: _Inside, cards: list[Size]) -> None:
        """Place cards without a look at crossings; lines run straight."""
        made, count = self.made, len(cards)
        own = (inside.sources < count) & (inside.targets < count)
        found = coarse.layout(cards, inside.sources[own].tolist(), inside.targets[own].tolist())
        made.x[inside.cards], made.y[inside.cards] = found.x, found.y
        made.inner_width[inside.box], made.inner_height[inside.box] = round(found.width), round(found.height)
        made.entry[inside.box] = made.exit[inside.box] = round(found.width / 2)

    def _place_carefully(self, inside: _Inside, net: Net, found: Layout) -> None:
        """Put cards and lines where the layered layout has them."""
        made, count = self.made, len(inside.cards)
        boxes = np.asarray(found.boxes, dtype=np.float64).reshape(len(found.boxes), 4)
        top, height = _cropped(boxes[:count]) if inside.box else (0, round(found.height))
        made.x[inside.cards], made.y[inside.cards] = np.round(boxes[:count, 0]), np.round(boxes[:count, 1]) - top
        made.inner_width[inside.box], made.inner_height[inside.box] = round(found.width), height
        made.entry[inside.box] = round(boxes[count, 0] if net.tops else found.width / 2)
        made.exit[inside.box] = round(boxes[-1, 0] if net.bottoms else found.width / 2)
        made.pieces[inside.links], points = shapes(found.edges, top)
        self.shapes.append(points)


def _cropped(boxes: NDArray[np.float64]) -> tuple[int, int]:
    """Return where a box begins and how tall it is when the rows of its ports lie on its edges."""
    top = round(float(boxes[:, 1].min())) - _BRIM
    return top, round(float((boxes[:, 1] + boxes[:, 3]).max())) + _BRIM - top


def _net(inside: _Inside) -> Net:
    """Return the cards of one box as a net, with a port at its top and its bottom where lines come in and go out."""
    count = len(inside.cards)
    comes, goes = bool((inside.sources == count).any()), bool((inside.targets == count + 1).any())
    targets = inside.targets if comes else np.where(inside.targets > count, count, inside.targets)
    return Net(
        count + comes + goes,
        inside.sources.tolist(),
        targets.tolist(),
        inside.outputs.tolist(),
        roots=[count] if comes else [],
        tops=int(comes),
        bottoms=int(goes),
    )


def shapes(edges: list[list[Point]], top: int = 0) -> tuple[Ints, Ints]:
    """Return for every line twice its Bezier pieces (plus 1 if bent), and the points of all, counted from ``top``."""
    pieces = np.asarray([len(points) // 3 for points in edges], dtype=np.int64)
    flat: list[Point] = [point for points in edges for point in points]
    places = np.round(np.asarray(flat, dtype=np.float64).reshape(len(flat), 2)).astype(np.int64)
    lengths = 3 * pieces + 1
    starts = np.cumsum(lengths) - lengths
    lines = np.repeat(np.arange(len(pieces)), lengths)
    inner = np.arange(len(places)) - starts[lines]
    bent = np.zeros(len(pieces), dtype=bool)
    bent[lines[_odd_controls(places, inner)]] = True
    kept = bent[lines] | (inner % 3 == 0)
    places, first = places[kept], inner[kept] == 0
    moves = np.diff(places, axis=0, prepend=np.zeros((1, 2), dtype=np.int64))
    moves[first] = places[first] - (0, top)
    return 2 * pieces + bent, moves.reshape(-1)


def _odd_controls(places: Ints, inner: Ints) -> Ints:
    """Return the first controls of the pieces that do not leave and arrive straight down, turning half way."""
    controls = np.flatnonzero(inner % 3 == 1)
    start, one, two, end = (places[controls + step] for step in (-1, 0, 1, 2))
    upright = (one[:, 0] == start[:, 0]) & (two[:, 0] == end[:, 0])
    middle = (start[:, 1] + end[:, 1]) / 2
    halfway = (np.abs(one[:, 1] - middle) <= 1) & (np.abs(two[:, 1] - middle) <= 1)
    straight = (start[:, 0] == end[:, 0]) & (start[:, 1] <= end[:, 1])
    odd: Ints = controls[~(upright & (halfway | straight))]
    return odd
