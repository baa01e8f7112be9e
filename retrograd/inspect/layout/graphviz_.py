"""The layout of Graphviz: its ``dot`` program places the cards, in a child process with a time limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from retrograd.errors import LayoutError
from retrograd.inspect.snapshot import GraphSnapshot

from .base import Box, Layout, Point, Size
from .dot_program import TIME_LIMIT, run_dot

_HASTE_FROM = 2000
"""Nodes from which on ``dot`` is told to hurry."""
_PER_INCH = 72.0
_OURS = "Use --layout layered, which needs no Graphviz and is linear in the graph."


def layout(snapshot: GraphSnapshot, sizes: Sequence[Size], *, time_limit: float = TIME_LIMIT) -> Layout:
    """Place cards of the given sizes and route all edges, as Graphviz ``dot`` does.

    Raises ``LayoutError`` when ``dot`` is missing, fails or takes longer than ``time_limit`` seconds.
    """
    if not len(snapshot):
        return Layout([], [], 0.0, 0.0)
    answer = run_dot("".join(_statements(snapshot, sizes)), "json0", instead=_OURS, time_limit=time_limit)
    try:
        return _read(json.loads(answer), snapshot, sizes)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise LayoutError(f"Graphviz gave an answer that makes no layout ({error!r}).", _OURS) from error


def _statements(snapshot: GraphSnapshot, sizes: Sequence[Size]) -> Iterator[str]:
    """Yield DOT text that holds numbers only: no word of the program reaches Graphviz."""
    yield 'digraph { node [shape=box fixedsize=true label=""] edge [dir=none] ranksep=0.6 nodesep=0.3\n'
    if len(snapshot) > _HASTE_FROM:
        yield "nslimit=0.1 nslimit1=0.1 mclimit=0.1 splines=line\n"
    for node, size in enumerate(sizes):
        yield f"n{node} [width={size.width / _PER_INCH:.4f} height={size.height / _PER_INCH:.4f}]\n"
    for edge, (source, target, _, _) in enumerate(snapshot.edges()):
        yield f"n{source} -> n{target} [id={edge}]\n"
    yield "}\n"


def _read(answer: dict[str, Any], snapshot: GraphSnapshot, sizes: Sequence[Size]) -> Layout:
    """Return the layout in Graphviz's JSON, whose y grows upward and whose boxes are given by their centres."""
    left, bottom, right, top = map(float, answer["bb"].split(","))

    def point(text: str) -> Point:
        x, y = map(float, text.split(","))
        return x - left, top - y

    boxes: list[Box | None] = [None] * len(snapshot)
    for entry in answer["objects"]:
        (x, y), node = point(entry["pos"]), int(entry["name"][1:])
        width, height = sizes[node]
        boxes[node] = Box(x - width / 2, y - height / 2, width, height)
    edges: list[list[Point]] = [[] for _ in range(snapshot.edge_count)]
    for entry in answer.get("edges", []):
        edges[int(entry["id"])] = [point(pair) for pair in entry["pos"].split()]
    placed = [box for box in boxes if box is not None]
    if len(placed) < len(boxes) or not all(len(points) % 3 == 1 and len(points) > 3 for points in edges):
        raise ValueError("some nodes or edges have no place")
    return Layout(placed, edges, right - left, top - bottom)
