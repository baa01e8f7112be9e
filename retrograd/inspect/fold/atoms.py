"""Turns nodes into atoms: operators in backward order, and leaves on their operator's card or once for each use."""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass, field

import numpy as np

from ..graphs.graph import IDLE, INPUT, Graph
from ..progress import followed
from .folded import Folded
from .plumbing import Edges, merge_plumbing

# The step `parameters` decides where leaves are drawn.
#
# A leaf is drawn at each use, as a row on the card of the operator that uses it. An operator *takes* a leaf if it
# combines it with something else (`x @ w`); it *works on* a leaf if the leaf is its only operand. Neighbours that work
# on one leaf (`exp(x) * sin(x)`) share one atom, because there the sum of their gradients matters; so does an operator
# that gets one leaf twice (`w * w`).

_NEAR = 2
"""Operators at most so far apart in the order of backward are neighbours."""
_TAKES = re.compile(r"mm|mv|matmul|dot|linear|conv|einsum|norm|embedding|rnn|lstm|gru|attention|spmm", re.IGNORECASE)
"""Operators that take parameters, also where nothing else they get needs a gradient."""


@dataclass(slots=True)
class Use:
    """One place where a leaf is drawn: the edges that lead to it, and the position of the last operator among them."""

    leaf: int
    edges: list[int]
    last: int


@dataclass(slots=True)
class Uses:
    """How the leaves are drawn: as rows on operators' cards, and as separate atoms behind an operator."""

    rows: dict[int, list[int]] = field(default_factory=dict)
    """Node of an operator -> the edges whose leaves are drawn on its card."""
    behind: dict[int, list[Use]] = field(default_factory=dict)
    """Node of an operator -> the leaf atoms that follow it."""
    copies: dict[int, int] = field(default_factory=dict)
    """Leaves that are drawn more than once: how often."""


def find_uses(snapshot: Graph, edges: Edges, leaves: bytearray, order: list[int], parameters: bool) -> Uses:
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
            if parameters and len(use.edges) == 1 and snapshot.kind[leaf] in _ROWS:
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


def _working_on(snapshot: Graph, edges: Edges, ends: list[int], shared: set[int]) -> dict[int, int]:
    """Return the operators that get nothing but one of these leaves: node -> leaf."""
    senders = [snapshot.edge_source[first] for first in edges.first]
    only = {node: end for node, end in zip(senders, ends, strict=True) if end in shared}
    for node, end in zip(senders, ends, strict=True):
        if node in only and only[node] != end:
            only[node] = -1
    return {node: leaf for node, leaf in only.items() if leaf >= 0 and not _takes(snapshot, node, leaf)}


def _takes(snapshot: Graph, node: int, leaf: int) -> bool:
    """Whether a leaf is a parameter: a module's, one in a product, or one that is broadcast."""
    if snapshot.scope[leaf] or _TAKES.search(snapshot.op[node]):
        return True
    result, given = snapshot.shape[node], snapshot.shape[leaf]
    return result is not None and given is not None and math.prod(result) > math.prod(given)


def _apart(leaf: int, placed: list[tuple[int, int]], order: list[int], alone: dict[int, int]) -> list[Use]:
    """Return the uses of a leaf, one per operator, except that neighbours which use it together share one."""
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


def execution_order(snapshot: Graph, wanted: list[int]) -> list[int]:
    """Return the ``wanted`` nodes in topological order, the last executed first.

    Sequence numbers say the order in which operators ran; where they contradict the edges (several threads, files
    from elsewhere) or are missing, they only decide between nodes that the edges leave free.
    """
    keys = _keys(snapshot)
    if _agrees(snapshot, keys, wanted):
        numbers = np.asarray(wanted, dtype=np.int64)
        order: list[int] = numbers[np.argsort(-keys[numbers], kind="stable")].tolist()
        return order
    return _sorted_by_edges(snapshot, (-keys).tolist(), wanted)


def _keys(snapshot: Graph) -> np.ndarray:
    """Return a number for each node that is larger for later ones; unknown nodes get the largest."""
    known = [-1 if number is None else number for number in snapshot.seq]
    return np.asarray(known, dtype=np.int64) if known else np.zeros(0, dtype=np.int64)


def _agrees(snapshot: Graph, keys: np.ndarray, wanted: list[int]) -> bool:
    """Whether every edge between wanted nodes runs from a higher to a lower number."""
    is_wanted = np.zeros(len(snapshot), dtype=bool)
    is_wanted[np.asarray(wanted, dtype=np.int64)] = True
    sources = np.asarray(snapshot.edge_source, dtype=np.int64)
    targets = np.asarray(snapshot.edge_target, dtype=np.int64)
    inner = is_wanted[sources] & is_wanted[targets]
    return bool(np.all(keys[sources[inner]] > keys[targets[inner]]))


def _sorted_by_edges(snapshot: Graph, ranks: list[int], wanted: list[int]) -> list[int]:
    """Sort topologically, lowest rank first among the free; in a cycle the lowest node left is taken."""
    below, waiting = _links_among(snapshot, wanted)
    free = [(ranks[node], node) for node in wanted if not waiting[node]]
    heapq.heapify(free)
    placed = bytearray(len(snapshot))
    order: list[int] = []
    leftover = iter(wanted)
    while len(order) < len(wanted):
        if not free:  # whatever is left is in a cycle, or behind one
            heapq.heappush(free, next((0, node) for node in leftover if not placed[node]))
        _, node = heapq.heappop(free)
        if placed[node]:
            continue
        placed[node] = 1
        order.append(node)
        for target in below.get(node, ()):
            waiting[target] -= 1
            if not waiting[target] and not placed[target]:
                heapq.heappush(free, (ranks[target], target))
    return order


def _links_among(snapshot: Graph, wanted: list[int]) -> tuple[dict[int, list[int]], list[int]]:
    """Return the edges between wanted nodes: targets by source, and per node how many lead to it."""
    is_wanted = bytearray(len(snapshot))
    for node in wanted:
        is_wanted[node] = 1
    below: dict[int, list[int]] = {}
    waiting = [0] * len(snapshot)
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        if is_wanted[source] and is_wanted[target] and source != target:
            below.setdefault(source, []).append(target)
            waiting[target] += 1
    return below, waiting


_HANGING = ("leaf", "ghost", IDLE)
"""Kinds of nodes that belong to operators (a ghost represents what an edge led to before it was cut)."""
_ROWS = ("leaf", IDLE)
"""Kinds of those that are lines on cards."""


def make_atoms(snapshot: Graph, merged: bytearray, *, parameters: bool) -> Folded:
    """Return the folded graph without any scopes; ``merged`` nodes are drawn as part of edges."""
    edges = merge_plumbing(snapshot, merged)
    leaves = _leaves(snapshot)
    order = execution_order(snapshot, [node for node in range(len(snapshot)) if not (merged[node] or leaves[node])])
    uses = find_uses(snapshot, edges, leaves, order, parameters)
    return _assemble(snapshot, merged, edges, leaves, order, uses)


def _leaves(snapshot: Graph) -> bytearray:
    """Return which nodes are leaves that some operator uses."""
    hanging = bytearray(len(snapshot))
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        if hangs(snapshot, target) and source != target:
            hanging[target] = 1
    for source in snapshot.edge_source:
        hanging[source] = 0
    for root in snapshot.roots:
        hanging[root] = 0
    return hanging


def hangs(snapshot: Graph, node: int) -> bool:
    """Whether a node belongs to the operators that use it: a leaf, a ghost or an input without a place of its own."""
    kind = snapshot.kind[node]
    return kind in _HANGING or (kind == INPUT and snapshot.seq[node] is None)


def _assemble(
    snapshot: Graph, merged: bytearray, edges: Edges, leaves: bytearray, order: list[int], uses: Uses
) -> Folded:
    """Number the atoms and join them by edges."""
    heads: list[int] = []
    atom_of = [-1] * len(snapshot)
    leaf_atoms: dict[int, int] = {}
    for node in followed(order):
        atom_of[node] = len(heads)
        heads.append(node)
        for use in uses.behind.get(node, ()):
            leaf_atoms.update(dict.fromkeys(use.edges, len(heads)))
            if atom_of[use.leaf] < 0:
                atom_of[use.leaf] = len(heads)
            heads.append(use.leaf)
    folded = Folded(snapshot, heads, atom_of, {}, [], [], [], [], copies=uses.copies)
    _put_rows(folded, edges, uses.rows)
    on_card = {position for positions in uses.rows.values() for position in positions}
    for position, (first, last) in followed(enumerate(zip(edges.first, edges.last, strict=True))):
        if position not in on_card:
            target = snapshot.edge_target[last]
            folded.sources.append(atom_of[snapshot.edge_source[first]])
            folded.targets.append(leaf_atoms[position] if leaves[target] else atom_of[target])
            folded.first_edges.append(first)
            folded.last_edges.append(last)
    _place_merged(folded, merged)
    return folded


def _put_rows(folded: Folded, edges: Edges, rows: dict[int, list[int]]) -> None:
    """Put leaves on the cards of their operators, in the order of the operators' inputs."""
    snapshot = folded.original
    for node, positions in rows.items():
        positions.sort(key=lambda position: snapshot.edge_input_nr[edges.first[position]])
        found = tuple(snapshot.edge_target[edges.last[position]] for position in positions)
        folded.rows[folded.atom_of[node]] = found
        for leaf in found:
            if folded.atom_of[leaf] < 0:
                folded.atom_of[leaf] = folded.atom_of[node]


def _place_merged(folded: Folded, merged: bytearray) -> None:
    """Find the card of every merged node: that of the operator whose edge it belongs to."""
    snapshot, atom_of = folded.original, folded.atom_of
    senders: dict[int, int] = {}
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        if merged[target]:
            senders.setdefault(target, source)
    for node in range(len(snapshot)):
        run = []
        while atom_of[node] < 0:
            run.append(node)
            node = senders[node]
        for passed in run:
            atom_of[passed] = atom_of[node]
