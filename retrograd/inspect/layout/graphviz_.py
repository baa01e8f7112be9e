"""Graphviz's layout: the ``dot`` program places the cards, in a child process with a time limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import LayoutError
from ..fold import View
from .base import Box, Point, Size
from .dot_program import TIME_LIMIT, run_dot
from .nested import NestedLayout

_HASTE_FROM = 2000
"""From this many nodes on, ``dot`` gets options that make it faster."""
_PER_INCH = 72.0
_MARGIN = 24.0
_CLUSTER = "cluster_"
_SHEET, _CLOSE = 0, -1
"""Among the numbers of frames: the whole sheet, which is not a cluster, and the end of a cluster."""
OURS = "Use --layout layered, which needs no Graphviz and is linear in the graph."


def layout(view: View, sizes: Sequence[Size], *, time_limit: float = TIME_LIMIT) -> NestedLayout:
    """Place the boxes of a view, cards of the given sizes, and route its edges, as Graphviz ``dot`` does.

    Open scopes are clusters.  Raises ``LayoutError`` when ``dot`` is missing, fails or takes longer than
    ``time_limit`` seconds.
    """
    if not view.boxes:
        return NestedLayout([], [Box(0.0, 0.0, 0.0, 0.0)], [], 0.0, 0.0)
    answer = run_dot("".join(_statements(view, sizes)), "json0", instead=OURS, time_limit=time_limit)
    try:
        return _read(json.loads(answer), view, sizes)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise LayoutError(f"Graphviz gave an answer that makes no layout ({error!r}).", OURS) from error


def _statements(view: View, sizes: Sequence[Size]) -> Iterator[str]:
    """Yield DOT text that holds numbers only: no word of the program reaches Graphviz."""
    yield 'digraph { node [shape=box fixedsize=true label=""] edge [dir=none] ranksep=0.6 nodesep=0.3\n'
    if len(view.boxes) > _HASTE_FROM:
        yield "nslimit=0.1 nslimit1=0.1 mclimit=0.1 splines=line\n"
    yield from _nodes_in_clusters(view, sizes)
    for edge, (source, target) in enumerate(zip(view.sources, view.targets, strict=True)):
        yield f"n{source} -> n{target} [id={edge}]\n"
    yield "}\n"


def _nodes_in_clusters(view: View, sizes: Sequence[Size]) -> Iterator[str]:
    """Yield a node for each box, within a cluster for each frame but the sheet; no recursion over their depth."""
    inner: list[list[int]] = [[] for _ in view.frames]
    for number, frame in enumerate(view.frames):
        if number:
            inner[frame.parent].append(number)
    boxes: list[list[int]] = [[] for _ in view.frames]
    for box, found in enumerate(view.boxes):
        boxes[found.frame].append(box)
    waiting = [_SHEET]
    while waiting:
        number = waiting.pop()
        if number == _CLOSE:
            yield "}\n"
            continue
        if number != _SHEET:
            yield f'subgraph {_CLUSTER}{number} {{ label=" " fontsize=18 margin=14\n'
            waiting.append(_CLOSE)
        for box in boxes[number]:
            size = sizes[box]
            yield f"n{box} [width={size.width / _PER_INCH:.4f} height={size.height / _PER_INCH:.4f}]\n"
        waiting += reversed(inner[number])


def _read(answer: dict[str, Any], view: View, sizes: Sequence[Size]) -> NestedLayout:
    """Return the layout in Graphviz's JSON; raises ``ValueError`` where not everything has a place."""
    area = _Area(*map(float, answer["bb"].split(",")))
    boxes: list[Box | None] = [None] * len(view.boxes)
    frames: list[Box | None] = [None] * len(view.frames)
    frames[_SHEET] = Box(0.0, 0.0, area.width, area.height)
    for entry in answer["objects"]:
        name = entry["name"]
        if name.startswith(_CLUSTER):
            frames[int(name.removeprefix(_CLUSTER))] = area.frame(entry["bb"])
        else:
            node = int(name[1:])
            boxes[node] = area.centred(entry["pos"], sizes[node])
    edges: list[list[Point]] = [[] for _ in view.edges]
    for entry in answer.get("edges", []):
        edges[int(entry["id"])] = [area.point(pair) for pair in entry["pos"].split()]
    placed, framed = [box for box in boxes if box], [frame for frame in frames if frame]
    if len(placed) < len(boxes) or len(framed) < len(frames) or not all(len(p) % 3 == 1 and len(p) > 3 for p in edges):
        raise ValueError("some nodes or edges have no place")
    return NestedLayout(placed, framed, edges, area.width, area.height)


class _Area(NamedTuple):
    """The bounding box of Graphviz's drawing, whose y grows upward; what it places, on a sheet with a margin."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        """Width of the sheet."""
        return self.right - self.left + 2 * _MARGIN

    @property
    def height(self) -> float:
        """Height of the sheet."""
        return self.top - self.bottom + 2 * _MARGIN

    def point(self, text: str) -> Point:
        """Return the place that ``x,y`` gives."""
        x, y = map(float, text.split(","))
        return x - self.left + _MARGIN, self.top - y + _MARGIN

    def centred(self, text: str, size: Size) -> Box:
        """Return the box around a place."""
        x, y = self.point(text)
        return Box(x - size.width / 2, y - size.height / 2, *size)

    def frame(self, text: str) -> Box:
        """Return the box that ``left,bottom,right,top`` gives."""
        left, bottom, right, top = map(float, text.split(","))
        x, y = self.point(f"{left},{top}")
        return Box(x, y, right - left, top - bottom)
