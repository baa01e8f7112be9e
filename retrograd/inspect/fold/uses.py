"""Where leaves are drawn: the step ``parameters``.

A leaf stands at every place of use, as a row on the card of the operator that takes it.  An operator *takes* a leaf
if it combines it with something else (``x @ w``); it *works on* a leaf if the leaf is all that it gets.  Neighbours
that work on one leaf (``exp(x) * sin(x)``) share one atom, for there the meeting of gradients is what matters; so
does an operator that gets one leaf twice (``w * w``).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from ..progress import followed
from ..snapshot import GraphSnapshot
from .plumbing import Edges

_NEAR = 2
"""Operators at most so far apart in the order of backward are neighbours."""
_TAKES = re.compile(r"mm|mv|matmul|dot|linear|conv|einsum|norm|embedding|rnn|lstm|gru|attention|spmm", re.IGNORECASE)
"""Operators that take parameters, also where nothing else they get needs a gradient."""


@dataclass(slots=True)
class Use:
    """One place where a leaf is drawn: the edges that lead to it, and the place of the last operator among them."""

    leaf: int
    edges: list[int]
    last: int


@dataclass(slots=True)
class Uses:
    """What becomes of the leaves: rows on operators, and atoms of their own behind an operator."""

    rows: dict[int, list[int]] = field(default_factory=dict)
    """Node of an operator -> the edges whose leaves stand on its card."""
    behind: dict[int, list[Use]] = field(default_factory=dict)
    """Node of an operator -> the leaf atoms that follow it."""
    copies: dict[int, int] = field(default_factory=dict)
    """Leaves that are drawn more than once: how often."""


def find_uses(snapshot: GraphSnapshot, edges: Edges, leaves: bytearray, order: list[int], parameters: bool) -> Uses:
    """Decide for every use of every leaf whether it is a row, shares an atom, or has one of its own."""
    place = [0] * len(snapshot)
    for number, node in enumerate(order):
        place[node] = number
    ends = [snapshot.edge_target[last] for last in edges.last]
    by_leaf = _edges_by_leaf(ends, leaves)
    shared = {leaf for leaf, positions in by_leaf.items() if len(positions) > 1}
    alone = _working_on(snapshot, edges, ends, shared) if parameters else {}
    found = Uses()
    for leaf, positions in followed(by_leaf.items()):
        placed = [(place[snapshot.edge_source[edges.first[position]]], position) for position in positions]
        groups = _apart(leaf, placed, order, alone) if parameters else [_together(leaf, placed)]
        for use in groups:
            node = order[use.last]
            if parameters and len(use.edges) == 1 and snapshot.kind[leaf] == "leaf":
                found.rows.setdefault(node, []).append(use.edges[0])
            else:
                found.behind.setdefault(node, []).append(use)
        if len(groups) > 1:
            found.copies[leaf] = len(groups)
    return found


def _edges_by_leaf(ends: list[int], leaves: bytearray) -> dict[int, list[int]]:
    """Return the edges that end at each leaf, by their place among all edges."""
    by_leaf: dict[int, list[int]] = {}
    for position, target in enumerate(ends):
        if leaves[target]:
            by_leaf.setdefault(target, []).append(position)
    return by_leaf


def _working_on(snapshot: GraphSnapshot, edges: Edges, ends: list[int], shared: set[int]) -> dict[int, int]:
    """Return the operators that get nothing but one of these leaves: node -> leaf."""
    senders = [snapshot.edge_source[first] for first in edges.first]
    only = {node: end for node, end in zip(senders, ends, strict=True) if end in shared}
    for node, end in zip(senders, ends, strict=True):
        if node in only and only[node] != end:
            only[node] = -1
    return {node: leaf for node, leaf in only.items() if leaf >= 0 and not _takes(snapshot, node, leaf)}


def _takes(snapshot: GraphSnapshot, node: int, leaf: int) -> bool:
    """Whether a leaf is a parameter all the same: a module's, one of a product, or one that is broadcast."""
    if snapshot.scope[leaf] or _TAKES.search(snapshot.op[node]):
        return True
    result, given = snapshot.shape[node], snapshot.shape[leaf]
    return result is not None and given is not None and math.prod(result) > math.prod(given)


def _apart(leaf: int, placed: list[tuple[int, int]], order: list[int], alone: dict[int, int]) -> list[Use]:
    """Return the uses of a leaf operator by operator, but neighbours that work on it together."""
    found: list[Use] = []
    joining = False
    for place, position in sorted(placed):
        works = alone.get(order[place]) == leaf
        if found and place - found[-1].last <= (_NEAR if works and joining else 0):
            found[-1].edges.append(position)
            found[-1].last = place
        else:
            found.append(Use(leaf, [position], place))
        joining = works
    return found


def _together(leaf: int, placed: list[tuple[int, int]]) -> Use:
    """Return all uses of a leaf as one."""
    placed = sorted(placed)
    return Use(leaf, [position for _, position in placed], placed[-1][0])
