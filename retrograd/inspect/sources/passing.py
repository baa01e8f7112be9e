"""What a graph alone tells of its gradients: which node gets what another one got, and whose results must be looked at.

What a node passes on is what arrives at the node behind it, unless several results add up there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..snapshot import GraphSnapshot
from .base import Node

_RESHAPING = ("T", "View", "UnsafeView", "Transpose", "Permute", "Unsqueeze", "Squeeze", "ReshapeAlias", "Alias")


def _named(*names: str) -> frozenset[str]:
    """Return the names of nodes of these operators."""
    return frozenset(f"{name}Backward{number}" for name in names for number in range(3))


_PASSING = _named(*_RESHAPING, "Expand", "Clone", "Add", "Sub")
"""Nodes that may pass on the very memory they get; whether one did is seen when it arrives."""
_PADDING = _named("Select", "Slice")
"""Nodes that pass on what they get with zeros around it."""
_ADDING = _named("Add")

BY_TARGET, BY_SOURCE, LOOKED_AT = 0, 1, 2
"""How it is known what went over an edge: as what arrived behind it, as what its node got, or by a hook."""


class Passing(NamedTuple):
    """What is known of one graph before it runs."""

    source: dict[int, int]
    """Row -> the only row from which something arrives there, if that may pass on the memory it gets."""
    ways: list[int]
    """How it is known what goes over each edge."""
    looked_at: dict[int, list[int]]
    """Row -> positions of the results that must be looked at, in order of its edges."""


def passing(order: list[Node], shot: GraphSnapshot) -> Passing:
    """Read a graph."""
    arriving = [0] * len(shot)
    for target in [*shot.edge_target, *shot.roots]:
        arriving[target] += 1
    source: dict[int, int] = {}
    ways: list[int] = []
    looked_at: dict[int, list[int]] = {}
    for start, end, position, number in shot.edges():
        if not number and arriving[end] == 1:
            way = BY_TARGET
            if shot.op[start] in _PASSING:
                source[end] = start
        elif not number and _tells(order[start], start, end, shot):
            way = BY_SOURCE
        else:
            way = LOOKED_AT
            looked_at.setdefault(start, []).append(position)
        ways.append(way)
    return Passing(source, ways, looked_at)


def _tells(node: Node, start: int, end: int, shot: GraphSnapshot) -> bool:
    """Whether a node passes on what it gets, perhaps with zeros around it."""
    op, got, given = shot.op[start], shot.shape[start], shot.shape[end]
    if got is None or given is None or shot.dtype[start] != shot.dtype[end]:
        return False
    if op in _PADDING:
        return math.prod(given) >= math.prod(got)
    return op in _ADDING and got == given and getattr(node, "_saved_alpha", None) == 1
