"""The layout of Graphviz: its ``dot`` program places the cards, in a child process with a time limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import LayoutError
from ..fold import View
from .base import Box, Point, Size
from .dot_program import TIME_LIMIT, run_dot
from .nested import NestedLayout

_HASTE_FROM = 2000
"""From this many nodes on, ``dot`` gets options that make it faster."""
_PER_INCH = 72.0
_MARGIN = 24.0
_OURS = "Use --layout layered, which needs no Graphviz and is linear in the graph."


def layout(view: View, sizes: Sequence[Size], *, time_limit: float = TIME_LIMIT) -> NestedLayout:
    """Place the boxes of a view, cards of the given sizes, and route its edges, as Graphviz ``dot`` does.

    Open scopes are clusters.  Raises ``LayoutError`` when ``dot`` is missing, fails or takes longer than
    ``time_limit`` seconds.
    """
    if not view.boxes:
        return NestedLayout([], [Box(0.0, 0.0, 0.0, 0.0)], [], 0.0, 0.0)
    answer = run_dot("".join(_statements(view, sizes)), "json0", instead=_OURS, time_limit=time_limit)
    try:
        return _read(json.loads(answer), view, sizes)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise LayoutError(f"Graphviz gave an answer that makes no layout ({error!r}).", _OURS) from error


def _statements(view: View, sizes: Sequence[Size]) -> Iterator[str]:
    """Yield DOT text that holds numbers only: no word of the program reaches Graphviz."""
    yield 'digraph { node [shape=box fixedsize=true label=""] edge [dir=none] ranksep=0.6 nodesep=0.3\n'
    if len(view.boxes) > _HASTE_FROM:
        yield "nslimit=0.1 nslimit1=0.1 mclimit=0.1 splines=line\n"
    inside: list[list[int]] = [[] for _ in view.frames]
    for number, frame in enumerate(view.frames):
        if number:
            inside[frame.parent].append(number)
    boxes: list[list[int]] = [[] for _ in view.frames]
    for box, found in enumerate(view.boxes):
        boxes[found.frame].append(box)
    waiting = [0]
    while waiting:
        number = waiting.pop()
        if number < 0:
            yield "}\n"
            continue
        if number:
            yield f'subgraph cluster_{number} {{ label=" " fontsize=18 margin=14\n'
            waiting.append(-1)
        for box in boxes[number]:
            size = sizes[box]
            yield f"n{box} [width={size.width / _PER_INCH:.4f} height={size.height / _PER_INCH:.4f}]\n"
        waiting += reversed(inside[number])
    for edge, (source, target) in enumerate(zip(view.sources, view.targets, strict=True)):
        yield f"n{source} -> n{target} [id={edge}]\n"
    yield "}\n"


def _read(answer: dict[str, Any], view: View, sizes: Sequence[Size]) -> NestedLayout:
    """Return the layout in Graphviz's JSON, whose y grows upward and whose boxes are given by their centres."""
    left, bottom, right, top = map(float, answer["bb"].split(","))

    def point(text: str) -> Point:
        x, y = map(float, text.split(","))
        return x - left + _MARGIN, top - y + _MARGIN

    boxes: list[Box | None] = [None] * len(view.boxes)
    frames: list[Box | None] = [None] * len(view.frames)
    width, height = right - left + 2 * _MARGIN, top - bottom + 2 * _MARGIN
    frames[0] = Box(0.0, 0.0, width, height)
    for entry in answer["objects"]:
        if entry["name"].startswith("cluster_"):
            x0, y0, x1, y1 = map(float, entry["bb"].split(","))
            x, y = point(f"{x0},{y1}")
            frames[int(entry["name"][8:])] = Box(x, y, x1 - x0, y1 - y0)
            continue
        (x, y), node = point(entry["pos"]), int(entry["name"][1:])
        size = sizes[node]
        boxes[node] = Box(x - size.width / 2, y - size.height / 2, *size)
    edges: list[list[Point]] = [[] for _ in view.edges]
    for entry in answer.get("edges", []):
        edges[int(entry["id"])] = [point(pair) for pair in entry["pos"].split()]
    placed, framed = [box for box in boxes if box], [frame for frame in frames if frame]
    if len(placed) < len(boxes) or len(framed) < len(frames) or not all(len(p) % 3 == 1 and len(p) > 3 for p in edges):
        raise ValueError("some nodes or edges have no place")
    return NestedLayout(placed, framed, edges, width, height)
