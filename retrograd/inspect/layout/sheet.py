"""Final positions of all vertices: pages side by side, with lanes between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .bands import Bands
from .base import Box, Point, Size
from .layers import Layered

MARGIN = 24.0
_LANE = 8.0
_LANES = 40
"""Lanes of one corridor; further edges share them."""
_CORRIDOR = 36.0
_TURN_ROOM = 30.0
_GAP = 48.0
"""Largest distance between neighbours on one page."""
_TURN_STEP, _TURN_STEPS = 6.0, 48.0
"""How far apart lines turn that run from page to page, and how far all of them together."""


@dataclass(slots=True)
class Sheet:
    """Everything that routing asks for."""

    layered: Layered
    sizes: Sequence[Size]
    centres: list[float]
    bands: Bands
    anchors: Sequence[float]
    """Per vertex the distance from its left side to its ``centre``."""
    lanes: list[dict[tuple[str, int, int], int]]
    """Per page the lanes of the corridor to its right: what uses it -> its number."""
    lefts: list[float] = field(default_factory=list)
    """Left edge of every page."""
    rights: list[float] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    headroom: float = 0.0

    def top(self, vertex: int) -> float:
        """Return the top of a vertex: of its box, or of its layer for a way point.

        An input beside others stands at the bottom of its layer, near to what takes it.
        """
        rank = self.layered.ranks[vertex]
        row = self.bands.rows.get(vertex, 0)
        begins = self.layered.above.starts[vertex] == self.layered.above.starts[vertex + 1]
        if rank and begins and vertex < self.layered.nodes and rank not in self.bands.grids:
            return self.bands.bottoms[rank] - self.sizes[vertex].height
        return self.bands.tops[rank] + (row * self.bands.grids[rank].row_height if row else 0.0)

    def box(self, node: int) -> Box:
        """Return the box of a node."""
        size = self.sizes[node]
        return Box(round(self.left(node), 1), round(self.top(node), 1), *size)

    def left(self, node: int) -> float:
        """Return the left side of a node's box."""
        return self.centres[node] - self.anchors[node]

    def middle(self, node: int) -> float:
        """Return the middle of a node's box, which an anchor may keep apart from its line."""
        return self.left(node) + self.sizes[node].width / 2

    def lane(self, page: int, key: tuple[str, int, int]) -> float:
        """Return where a lane of the corridor right of a page runs."""
        return self.rights[page] + _CORRIDOR / 2 + self.lanes[page][key] % _LANES * _LANE

    def turns(self, page: int, key: tuple[str, int, int]) -> tuple[float, float]:
        """Return how much farther a lane's line turns below and above than the innermost: none meets another."""
        lanes = self.lanes[page]
        step = _turn_step(len(lanes))
        return lanes[key] * step, (len(lanes) - 1 - lanes[key]) * step

    def entry(self, vertex: int, x: float) -> list[Point]:
        """Return the way from the top of a vertex's layer to its top at ``x``."""
        row = self.bands.rows.get(vertex, 0)
        if not row:
            return [(x, self.top(vertex))]
        rank = self.layered.ranks[vertex]
        gutter, top = self._gutter(vertex), self.top(vertex)
        return [(gutter, self.bands.tops[rank]), (gutter, top - 24), (x, top)]

    def exit(self, vertex: int, x: float) -> list[Point]:
        """Return the way from the bottom of a vertex at ``x`` to the bottom of its layer."""
        rank = self.layered.ranks[vertex]
        bottom = self.bands.bottoms[rank]
        if vertex >= self.layered.nodes:
            return [(x, bottom)]
        own = self.top(vertex) + self.sizes[vertex].height
        grid = self.bands.grids.get(rank)
        if grid is None or self.bands.rows[vertex] == grid.rows - 1:
            return [(x, own), (x, bottom)]
        gutter = self._gutter(vertex)
        row_end = self.top(vertex) + grid.row_height - 24
        return [(x, own), (gutter, row_end), (gutter, bottom)]

    def _gutter(self, vertex: int) -> float:
        """Return the gutter right of a node of a wrapped layer."""
        cell = self.bands.grids[self.layered.ranks[vertex]].cell
        return self.middle(vertex) + cell / 2

    def page(self, vertex: int) -> int:
        """Return the page of a vertex."""
        return self.bands.pages[self.layered.ranks[vertex]]


@dataclass(slots=True)
class Placed:
    """Horizontal positions of the vertices."""

    layered: Layered
    sizes: Sequence[Size]
    anchors: Sequence[float]
    centres: list[float]


def close_up(placed: Placed, bands: Bands) -> None:
    """Narrow the gaps that run through all layers of a page: what stood in them went to another page."""
    spans: dict[int, list[tuple[float, float, int]]] = {}
    for vertex, centre in enumerate(placed.centres):
        left = right = centre
        if vertex < placed.layered.nodes:
            left -= placed.anchors[vertex]
            right = left + placed.sizes[vertex].width
        spans.setdefault(bands.pages[placed.layered.ranks[vertex]], []).append((left, right, vertex))
    for page in spans.keys() - {bands.pages[rank] for rank in bands.grids}:
        shift, reach = 0.0, float("inf")
        for left, right, vertex in sorted(spans[page]):
            shift += max(left - reach - _GAP, 0.0)
            reach = right if reach == float("inf") else max(right, reach)
            placed.centres[vertex] -= shift


def lay_out_pages(placed: Placed, bands: Bands, extents: Sequence[Extent], users: list[Lane]) -> Sheet:
    """Move pages side by side with room for the lanes between them, and everything to positive places."""
    count = bands.pages[-1] + 1 if bands.pages else 1
    lanes: list[dict[tuple[str, int, int], int]] = [{} for _ in range(count)]
    for page, key in users:
        lanes[page].setdefault(key, len(lanes[page]))
    made = Sheet(placed.layered, placed.sizes, placed.centres, bands, placed.anchors, lanes)
    most = max(map(len, lanes))
    made.headroom = MARGIN + (_TURN_ROOM + (most - 1) * _turn_step(most) if most else 0.0)
    _set_side_by_side(made, _page_extents(extents, bands.pages))
    for tops in (bands.tops, bands.bottoms):
        tops[:] = [y + made.headroom for y in tops]
    made.height = max(bands.bottoms, default=0.0) + made.headroom
    return made


def _turn_step(count: int) -> float:
    """Return how far apart the lines of a corridor turn; many share the room."""
    return min(_TURN_STEP, _TURN_STEPS / count)


Lane = tuple[int, tuple[str, int, int]]
"""A page and what runs in the corridor to its right."""
Extent = tuple[float, float]
"""Left and right end of a layer or page."""


def layer_extents(placed: Placed, bands: Bands) -> list[Extent]:
    """Return how far left and right the vertices of each layer reach."""
    layered = placed.layered
    found = []
    for number, layer in enumerate(layered.layers):
        left, right = float("inf"), float("-inf")
        for vertex in layer:
            before = after = 1.0
            if vertex < layered.nodes:
                before, after = placed.anchors[vertex], placed.sizes[vertex].width - placed.anchors[vertex]
            if vertex in bands.rows:
                rim = (bands.grids[number].cell - placed.sizes[vertex].width) / 2 + 1.0
                before, after = before + rim, after + rim
            centre = placed.centres[vertex]
            left, right = min(left, centre - before), max(right, centre + after)
        found.append((left, right) if layer else (0.0, 0.0))
    return found


def _page_extents(extents: Sequence[Extent], pages: Sequence[int]) -> list[Extent]:
    """Return how far left and right each page reaches."""
    found: list[Extent] = []
    for (left, right), page in zip(extents, pages, strict=True):
        if page < len(found):
            found[page] = min(found[page][0], left), max(found[page][1], right)
        else:
            found.append((left, right))
    return found or [(0.0, 0.0)]


def _set_side_by_side(made: Sheet, extents: list[Extent]) -> None:
    """Set the pages' edges and shift all centres onto the sheet."""
    x = MARGIN
    shifts = []
    for page, (left, right) in enumerate(extents):
        made.lefts.append(x)
        made.rights.append(x + right - left)
        shifts.append(x - left)
        x += right - left
        if made.lanes[page]:
            x += _CORRIDOR + _LANE * min(len(made.lanes[page]), _LANES)
        elif page + 1 < len(extents):
            x += _CORRIDOR
    for vertex in range(len(made.centres)):
        made.centres[vertex] += shifts[made.page(vertex)]
    made.width = x + MARGIN
