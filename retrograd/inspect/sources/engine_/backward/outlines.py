"""The outline of a graph: classes of nodes, shapes and edges, which tell two graphs apart.

A graph is compared with an outline by walking it where that led to new nodes; all else is compared as whole lists, in
C.  Making an outline of every graph takes six times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import attrgetter
from typing import Any

from .....engine.aliasing.history import CopySlices
from .....engine.nodes.accumulate import AccumulateGrad
from .....engine.nodes.node import Port
from .....engine.nodes.opnode import OpNode
from ...base import Node

MAX_NODES = 20_000
"""Larger graphs have no outline: to walk them as if they were new takes little beside what their nodes take."""
_LASTING = (OpNode, AccumulateGrad, CopySlices)
"""Classes of nodes that are the engine's: their names follow from the class, and they live as long as it."""
_known: set[type] = set()
"""Those that were met."""
_sigs_of = attrgetter("_sigs")


class Outline:
    """The outline of one graph; it holds none of the nodes."""

    __slots__ = ("_classes", "_first", "_numbers", "_sigs", "_steps")

    def __init__(self, roots: Sequence[Node], order: list[Node]) -> None:
        """``order`` is that in which a walk from the roots comes to the nodes, breadth first."""
        self._classes, self._sigs = list(map(type, order)), list(map(_sigs_of, order))
        ends = list(roots)
        self._steps: list[tuple[int, int]] = []
        """For each node that leads to others: where it came up first, and how many ends there are behind it."""
        numbers: list[tuple[int, int]] = []
        places: dict[Node, int] = {}
        for node in order:
            _follow(node, ends, numbers)
        for place, end in enumerate(ends):
            places.setdefault(end, place)
        behind = len(roots)
        for node in order:
            if not node.accumulates:
                behind += len(node._edges)
                self._steps.append((places[node], behind))
        self._first = first_places(ends)
        self._numbers = numbers or None
        """Ends at one of several outputs of a node, with its number; None for a graph without them."""

    def order_of(self, roots: Sequence[Node]) -> list[Node] | None:
        """The nodes of a graph with this outline, in the order of a walk; None for a graph with another one."""
        ends = list(roots)
        numbers: list[tuple[int, int]] | None = None if self._numbers is None else []
        try:
            for place, behind in self._steps:
                if numbers is None:
                    ends += ends[place]._edges
                else:
                    _follow(ends[place], ends, numbers)
                if len(ends) != behind:
                    return None
        except (AttributeError, IndexError):  # no node stands there
            return None
        found = dict.fromkeys(ends)
        found.pop(None, None)
        order = list(found)
        same = list(map(type, order)) == self._classes and list(map(_sigs_of, order)) == self._sigs
        return order if same and numbers == self._numbers and first_places(ends) == self._first else None


def outline_of(roots: Sequence[Node], order: list[Node]) -> Outline | None:
    """The outline of a graph; None where it is large or has nodes that are not the engine's own."""
    if len(order) > MAX_NODES or not all(map(_is_lasting, set(map(type, order)))):
        return None
    return Outline(roots, order)


def first_places(things: list[Any]) -> list[int]:
    """Where each of these turns up first; -1 for None."""
    places: dict[Any, int] = {None: -1}
    return list(map(places.setdefault, things, count()))


def _follow(node: Node, ends: list[Any], numbers: list[tuple[int, int]]) -> None:
    """Append what a node leads to, and note which of several outputs of that."""
    for edge in node._edges:
        if edge.__class__ is Port:
            numbers.append((len(ends), edge.nr))
            ends.append(edge.node)
        else:
            ends.append(edge)


def _is_lasting(cls: type) -> bool:
    """Whether a class is the engine's."""
    if cls not in _known and issubclass(cls, _LASTING):
        _known.add(cls)
    return cls in _known
