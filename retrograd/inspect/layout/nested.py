"""The layout of a folded graph: cards inside the frames of open modules, each frame laid out as a drawing of its own.

Inner frames come first.  An edge that leaves a frame runs to a port on its lower side; in the drawing around it the
frame is a card that this edge leaves at that port.  So lines run through any number of frames without a jump, and
each frame takes time linear in its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..fold import View
from .base import Box, Layout, Point, Size, straight
from .layered import layout_net
from .layers import build
from .net import Net
from .ordering import reduce_crossings
from .pages import ALMOST, SCREEN, Screen, fill


class End(NamedTuple):
    """Where a piece of an edge begins or ends: at a ``box`` or ``frame`` inside, or at a port to the outside.

    A port is for one value: at the ``bottom`` with the value's number, at the ``top`` with one for each box or frame
    from which it comes.
    """

    kind: str
    number: int
    port: int = -1
    """The port of the inner frame."""


class Piece(NamedTuple):
    """A piece of one or several edges within a frame."""

    start: End
    end: End
    value: int = 0
    """What runs along it into a box; edges of other values go their own way."""
    twin: int = 0
    """Number among the parallel edges of two boxes."""


@dataclass(slots=True)
class Part:
    """A frame as a net: first its members, then the ports at its top, then those at its bottom."""

    members: list[tuple[str, int]] = field(default_factory=list)
    """("box" or "frame", its number) in order."""
    pieces: list[Piece] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    tops: dict[int, int] = field(default_factory=dict)
    """Name of a port -> its number."""
    bottoms: dict[int, int] = field(default_factory=dict)
    _places: dict[tuple[str, int], int] = field(default_factory=dict)
    _known: dict[Piece, int] = field(default_factory=dict)

    def put(self, members: Iterable[tuple[str, int]]) -> None:
        """Set the content of the frame."""
        self.members = list(members)
        self._places = {member: node for node, member in enumerate(self.members)}

    def link(self, piece: Piece, label: float) -> int:
        """Return the edge of the net for a piece; equal pieces of several edges are one."""
        edge = self._known.setdefault(piece, len(self.pieces))
        if edge == len(self.pieces):
            self.pieces.append(piece)
            self.labels.append(label)
            for end, kind, ports in ((piece.start, "top", self.tops), (piece.end, "bottom", self.bottoms)):
                if end.kind == kind:
                    ports.setdefault(end.number, len(ports))
        return edge

    def node(self, end: End) -> int:
        """Return the node of the net at an end."""
        if end.kind == "top":
            return len(self.members) + self.tops[end.number]
        if end.kind == "bottom":
            return len(self.members) + len(self.tops) + self.bottoms[end.number]
        return self._places[end.kind, end.number]

    def net(self) -> Net:
        """Return the net, when all pieces are known."""
        count = len(self.members) + len(self.tops) + len(self.bottoms)
        sources = [self.node(piece.start) for piece in self.pieces]
        targets = [self.node(piece.end) for piece in self.pieces]
        # Lines that enter a frame at different ports must not share their way, nor those of different values.
        numbers = [piece.end.port if piece.end.kind == "frame" else piece.value for piece in self.pieces]
        made = Net(count, sources, targets, numbers, tops=len(self.tops), bottoms=len(self.bottoms))
        made.roots = [*range(made.first_top, made.first_bottom), *range(len(self.members))]
        return made


HEADER = 26.0
"""Room for the title of a frame."""
_ENDLESS = Screen(float("inf"), float("inf"))
_WITHIN = 1400.0
"""Width of the screen that a frame should fit in a drawing that is too tall,"""
_CHEAP = 0.08
"""What lines cost that run on in another column, where a drawing is to be seen as a whole."""
_HEIGHTS = (750.0, 600.0, 900.0)
"""and its heights that are tried (in large drawings only the first); the best one counts."""
_APART = 8
"""Different values into one box whose lines each have a way and a port of their own; more run side by side as one."""
_FEW = 1000
_SIDE = 10.0
"""Room between a line and a title."""
_SPARED = 12.0
"""What a frame needs less of a drawing's margin, above and below."""


@dataclass(frozen=True, slots=True)
class NestedLayout:
    """A drawing without looks: ``boxes`` and ``edges`` as in the view; ``frames[0]`` is the whole sheet."""

    boxes: list[Box]
    frames: list[Box]
    edges: list[list[Point]]
    width: float
    height: float
    endings: list[float] = field(default_factory=list)
    """Per frame how far from its left side the second part of its title stands: beside the lines that come in."""


class Title(NamedTuple):
    """The widths of a frame's title, with its margins: lines come in beside its name, and beside its ending."""

    name: float
    ending: float = 0.0


def layout(
    view: View,
    sizes: Sequence[Size],
    label_widths: Sequence[float] | None = None,
    title_widths: Sequence[Title] | None = None,
    strands: Sequence[int] | None = None,
    sight: Size | None = None,
) -> NestedLayout:
    """Place the boxes of a view, cards of the given ``sizes``, in their frames, and route its edges.

    ``label_widths`` keeps edges so far apart that their labels have room; frames are as wide as ``title_widths``.
    ``strands`` are edges of different looks: only those of one strand and one value share their way.  ``sight`` is what
    the whole should fit, if it can: rather than be larger it has more lines from column to column.
    No recursion; linear but for the depth of frames.
    """
    values = _kept_apart(view.values(), view.targets)
    if strands:
        count = max(strands) + 1
        values = [value * count + strand for value, strand in zip(values, strands, strict=True)]
    if len(view.frames) == 1:
        return _flat(view, sizes, label_widths, values)
    work = _Nested(view, sizes, title_widths or [Title(0.0)] * len(view.frames))
    work.split_edges(label_widths or [0.0] * len(view.edges), values)
    for part in work.parts:  # outer ones first
        work.order_ports(part)
    best = work.placed(_ENDLESS, _ENDLESS)
    if best.sizes[0].height > ALMOST * SCREEN.height:
        heights = _HEIGHTS if len(view.boxes) <= _FEW else _HEIGHTS[:1]
        best = work.best(heights)
        if sight and _fills(best, sight) > 1:
            best = min(best, work.best(heights, _CHEAP), key=lambda placing: _fills(placing, sight))
    return work.assembled(best)


def _kept_apart(values: list[int], targets: Sequence[int]) -> list[int]:
    """Return the values of edges, with one for all that lead to a box which too many different ones lead to."""
    known: dict[int, set[int]] = {}
    for value, target in zip(values, targets, strict=True):
        known.setdefault(target, set()).add(value)
    crowded = [target for target, found in known.items() if len(found) > _APART]
    if not crowded:
        return values
    first = max(values) + 1
    joined = {target: first + number for number, target in enumerate(crowded)}
    return [joined.get(target, value) for value, target in zip(values, targets, strict=True)]


def _flat(view: View, sizes: Sequence[Size], label_widths: Sequence[float] | None, values: list[int]) -> NestedLayout:
    """Return the drawing of a view without frames: one net."""
    roots = list(range(len(view.boxes)))
    made = layout_net(Net(len(view.boxes), view.sources, view.targets, values, roots), sizes, label_widths)
    sheet = Box(0.0, 0.0, made.width, made.height)
    return NestedLayout(made.boxes, [sheet], made.edges, made.width, made.height)


@dataclass(frozen=True, slots=True)
class _Placing:
    """One way to lay out all frames."""

    layouts: list[Layout]
    shifts: list[float]
    """For each frame the distance of its drawing from its left side."""
    sizes: list[Size]
    endings: list[float]
    """For each frame the distance of its title's ending from its left side."""

    def cost(self) -> float:
        """Return how many screens the whole fills the longer way, and what all cuts cost."""
        return fill(*self.sizes[0], SCREEN) + sum(layout.cuts for layout in self.layouts)


def _fills(placing: _Placing, sight: Size) -> float:
    """Return how many times a drawing fills what is in sight, the longer way."""
    width, height = placing.sizes[0]
    return fill(width, height, sight)


def _beside(title: Title, entries: list[float], width: float) -> tuple[float, float, float]:
    """Return how far a frame's content is moved to the right, where its title's ending stands, and the frame's width.

    Lines come in at ``entries``, right of the title or between its two parts: whichever makes the frame less wide.
    """
    whole, first, last = title.name + title.ending, (entries or [float("inf")])[0], (entries or [0.0])[-1]
    shift = max((whole - width) / 2, whole - first, 0.0)
    right = shift, title.name, max(width + shift, whole)
    shift = max(title.name - first, 0.0)
    between = shift, last + shift + _SIDE, max(width + shift, last + shift + _SIDE + title.ending)
    return between if title.ending and between[2] < right[2] else right


class _Nested:
    """The work on one view."""

    def __init__(self, view: View, sizes: Sequence[Size], title_widths: Sequence[Title]) -> None:
        self.view, self.sizes, self.title_widths = view, sizes, title_widths
        self.parts = [Part() for _ in view.frames]
        self.ways: list[list[tuple[int, int]]] = []
        """Per edge the pieces of its way: (frame, edge of that frame's net), from its source to its target."""
        self._fill()

    def _fill(self) -> None:
        """Assign items to frames, in the order of their atoms."""
        scopes = self.view.folded.scopes
        members: list[list[tuple[int, str, int]]] = [[] for _ in self.parts]
        for number, box in enumerate(self.view.boxes):
            members[box.frame].append((box.begin, "box", number))
        for number, frame in enumerate(self.view.frames):
            if number:
                members[frame.parent].append((scopes[frame.scope].begin, "frame", number))
        for part, inside in zip(self.parts, members, strict=True):
            part.put((kind, number) for _, kind, number in sorted(inside))

    def _around(self, box: int) -> list[int]:
        """Return the frames around a box, innermost first."""
        found, frame = [], self.view.boxes[box].frame
        while frame >= 0:
            found.append(frame)
            frame = self.view.frames[frame].parent
        return found

    def _frames_between(self, source: int, target: int) -> tuple[list[int], int, list[int]]:
        """Return the frames that an edge leaves, the one in which its ends meet, those it enters; innermost first."""
        out, into = self._around(source), self._around(target)
        while len(out) > 1 and len(into) > 1 and out[-2] == into[-2]:
            out.pop()
            into.pop()
        meeting, _ = out.pop(), into.pop()
        return out, meeting, into

    def best(self, heights: Sequence[float], line: float = SCREEN.line) -> _Placing:
        """Lay out all frames in columns of some of these heights; ``line`` is what lines through a cut cost."""
        around = SCREEN._replace(line=line)
        return min((self.placed(Screen(_WITHIN, height, line), around) for height in heights), key=_Placing.cost)

    def split_edges(self, label_widths: Sequence[float], values: Sequence[int]) -> None:
        """Divide every edge into the pieces of its way: out of frames, across, into frames."""
        twins: dict[tuple[int, int], int] = {}
        # Lines of one value from one frame have met on leaving it, and enter as one.
        entries: dict[tuple[str, int, int], int] = {}
        ends = zip(self.view.sources, self.view.targets, strict=True)
        for (source, target), label, value in zip(ends, label_widths, values, strict=True):
            twin = twins[source, target] = twins.get((source, target), -1) + 1
            out, meeting, into = self._frames_between(source, target)
            way = []
            start, end = End("box", source), End("box", target)
            for frame in out:
                way.append((frame, self.parts[frame].link(Piece(start, End("bottom", value)), label)))
                start, label = End("frame", frame, value), 0.0
            inward = []
            entry = entries.setdefault((start.kind, start.number, value), len(entries))
            for frame in into:
                inward.append((frame, self.parts[frame].link(Piece(End("top", entry), end, value), 0.0)))
                end = End("frame", frame, entry)
            plain = twin if not (out or into) else 0
            way.append((meeting, self.parts[meeting].link(Piece(start, end, value, plain), label)))
            self.ways.append(way + inward[::-1])

    def order_ports(self, part: Part) -> None:
        """Order the ports of inner frames like the lines that enter them, where that order is free."""
        frames = [inner for kind, inner in part.members if kind == "frame" and len(self.parts[inner].tops) > 1]
        if not frames:
            return
        net = part.net()
        layered = build(net)
        reduce_crossings(layered)
        places = {vertex: place for layer in layered.layers for place, vertex in enumerate(layer)}
        coming: dict[tuple[int, int], int] = {}
        for edge, piece in enumerate(part.pieces):
            if piece.end.kind == "frame":
                path = layered.path(edge, net.edge_source[edge], net.edge_target[edge])
                coming.setdefault((piece.end.number, piece.end.port), places[path[-2]])
        for frame in frames:
            inner = self.parts[frame]
            ordered = sorted(inner.tops, key=lambda port, frame=frame: coming.get((frame, port), 0))  # type: ignore[misc]
            inner.tops = {port: number for number, port in enumerate(ordered)}

    def placed(self, within: Screen, around: Screen) -> _Placing:
        """Lay out all frames: inner ones fit the screen ``within`` if they can, the whole drawing ``around``."""
        count = len(self.parts)
        placing = _Placing([Layout([], [], 0.0, 0.0)] * count, [0.0] * count, [Size(0.0, 0.0)] * count, [0.0] * count)
        for number in range(count - 1, -1, -1):  # parents come before their children
            self._lay_out(placing, number, within if number else around)
        return placing

    def _lay_out(self, placing: _Placing, number: int, screen: Screen) -> None:
        """Lay out one frame, whose inner frames have been laid out."""
        part = self.parts[number]
        sizes = [self.sizes[inner] if kind == "box" else placing.sizes[inner] for kind, inner in part.members]
        net = self._net_with_ports(placing, part)
        made = layout_net(net, sizes + [Size(0.0, 0.0)] * (net.tops + net.bottoms), part.labels, screen)
        placing.layouts[number] = made
        entries = sorted(made.boxes[len(part.members) + port].x for port in part.tops.values())
        shift, ending, width = _beside(self.title_widths[number], entries, made.width)
        placing.shifts[number], placing.endings[number] = shift, ending
        placing.sizes[number] = Size(round(width, 1), round(made.height + (HEADER - 2 * _SPARED if number else 0.0), 1))

    def _net_with_ports(self, placing: _Placing, part: Part) -> Net:
        """Return the content of a frame as a net whose edges meet inner frames at their ports."""
        net = part.net()
        for node, (kind, inner) in enumerate(part.members):
            if kind == "frame":
                anchor = self._anchor(placing, inner)
                if anchor is not None:
                    net.anchors[node] = anchor
        for edge, piece in enumerate(part.pieces):
            if piece.start.kind == "frame":
                net.leaves_at[edge] = self._port(placing, piece.start.number, "bottom", piece.start.port)
            if piece.end.kind == "frame":
                net.enters_at[edge] = self._port(placing, piece.end.number, "top", piece.end.port)
        return net

    def _port(self, placing: _Placing, frame: int, kind: str, number: int) -> float:
        """Return the position of a frame's port, from the left side of the frame."""
        node = self.parts[frame].node(End(kind, number))
        return placing.layouts[frame].boxes[node].x + placing.shifts[frame]

    def _anchor(self, placing: _Placing, frame: int) -> float | None:
        """Return where the main line through a frame runs, from its left side."""
        part = self.parts[frame]
        for kind, ports in (("top", part.tops), ("bottom", part.bottoms)):
            if len(ports) > 2:  # of many lines the one in the middle, so that all come straight
                return sorted(self._port(placing, frame, kind, port) for port in ports)[len(ports) // 2]
            if ports:
                return self._port(placing, frame, kind, next(iter(ports)))
        return None

    def assembled(self, placing: _Placing) -> NestedLayout:
        """Put all frames in their places and join the pieces of the edges."""
        view = self.view
        boxes = [Box(0.0, 0.0, 0.0, 0.0)] * len(view.boxes)
        frames = [Box(0.0, 0.0, *size) for size in placing.sizes]
        origins: list[Point] = []
        for number, part in enumerate(self.parts):
            x, y = frames[number].x + placing.shifts[number], frames[number].y + (HEADER - _SPARED if number else 0.0)
            origins.append((x, y))
            for node, (kind, inner) in enumerate(part.members):
                box = placing.layouts[number].boxes[node]
                moved = box._replace(x=round(box.x + x, 1), y=round(box.y + y, 1))
                if kind == "box":
                    boxes[inner] = moved
                else:
                    frames[inner] = moved
        edges = [self._joined(placing, way, frames, origins) for way in self.ways]
        return NestedLayout(boxes, frames, edges, *placing.sizes[0], placing.endings)

    def _joined(
        self, placing: _Placing, way: list[tuple[int, int]], frames: list[Box], origins: list[Point]
    ) -> list[Point]:
        """Return the curve of one edge from its pieces, joined where they pass through the sides of frames."""
        curve: list[Point] = []
        for frame, edge in way:
            dx, dy = origins[frame]
            points = [(round(x + dx, 1), round(y + dy, 1)) for x, y in placing.layouts[frame].edges[edge]]
            piece = self.parts[frame].pieces[edge]
            if piece.start.kind == "top":
                entry = (points[0][0], frames[frame].y)
                points = [entry, *straight(entry, points[0]), *points[1:]]
            if piece.end.kind == "bottom":
                points += straight(points[-1], (points[-1][0], frames[frame].y + frames[frame].height))
            curve += points[1:] if curve else points
        return curve
