"""From nodes to atoms: operators in the order of backward, leaves on their operator's card or once per use.

This is where the step ``parameters`` happens: a leaf with one use becomes a row on the card of the operator that
uses it; a leaf that is used again far away is shown at every place of use.  Uses close to each other (``x`` in
``exp(x) * sin(x)``) keep the leaf as one atom, for there the meeting of the gradients is what matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from retrograd.inspect.snapshot import GraphSnapshot

from .folded import Folded
from .order import execution_order
from .plumbing import Edges, merge_plumbing

_HANGING = ("leaf", "ghost")
"""Kinds of nodes that hang on operators (a ghost stands for what an edge led to before it was cut)."""
_NEAR = 2
"""Uses of a leaf at most so many operators apart share one atom."""


@dataclass(slots=True)
class _Use:
    """Neighbouring uses of one leaf: the edges that lead to it, and the place of the last operator among them."""

    leaf: int
    edges: list[int]
    last: int


@dataclass(slots=True)
class _Layout:
    """What becomes of the leaves: rows on operators, and atoms of their own behind an operator."""

    rows: dict[int, list[int]] = field(default_factory=dict)
    behind: dict[int, list[_Use]] = field(default_factory=dict)
    """Node of an operator -> the leaf atoms that follow it."""
    copies: dict[int, int] = field(default_factory=dict)


def make_atoms(snapshot: GraphSnapshot, merged: bytearray, *, parameters: bool) -> Folded:
    """Return the folded graph without any scopes; ``merged`` nodes stand on edges."""
    edges = merge_plumbing(snapshot, merged)
    leaves = _leaves(snapshot)
    order = execution_order(snapshot, [node for node in range(len(snapshot)) if not (merged[node] or leaves[node])])
    arranged = _arrange(snapshot, edges, leaves, order, parameters)
    return _assemble(snapshot, merged, edges, leaves, order, arranged)


def _leaves(snapshot: GraphSnapshot) -> bytearray:
    """Return which nodes are leaves that something leads to: they hang on operators."""
    hanging = bytearray(len(snapshot))
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        if snapshot.kind[target] in _HANGING and source != target:
            hanging[target] = 1
    for source in snapshot.edge_source:
        hanging[source] = 0
    for root in snapshot.roots:
        hanging[root] = 0
    return hanging


def _arrange(snapshot: GraphSnapshot, edges: Edges, leaves: bytearray, order: list[int], parameters: bool) -> _Layout:
    """Decide for every use of every leaf whether it is a row, shares an atom, or has one of its own."""
    place = [0] * len(snapshot)
    for number, node in enumerate(order):
        place[node] = number
    uses: dict[int, list[int]] = {}
    for position, last in enumerate(edges.last):
        target = snapshot.edge_target[last]
        if leaves[target]:
            uses.setdefault(target, []).append(position)
    arranged = _Layout()
    sources = snapshot.edge_source
    for leaf, positions in uses.items():
        groups = _groups(leaf, positions, [place[sources[edges.first[position]]] for position in positions], parameters)
        for use in groups:
            node = order[use.last]
            if parameters and len(use.edges) == 1 and snapshot.kind[leaf] == "leaf":
                arranged.rows.setdefault(node, []).append(use.edges[0])
            else:
                arranged.behind.setdefault(node, []).append(use)
        if len(groups) > 1:
            arranged.copies[leaf] = len(groups)
    return arranged


def _groups(leaf: int, positions: list[int], places: list[int], apart: bool) -> list[_Use]:
    """Return the uses of a leaf, neighbouring ones together; all together unless they may stand apart."""
    found: list[_Use] = []
    for place, position in sorted(zip(places, positions, strict=True)):
        if found and (not apart or place - found[-1].last <= _NEAR):
            found[-1].edges.append(position)
            found[-1].last = place
        else:
            found.append(_Use(leaf, [position], place))
    return found


def _assemble(
    snapshot: GraphSnapshot, merged: bytearray, edges: Edges, leaves: bytearray, order: list[int], arranged: _Layout
) -> Folded:
    """Number the atoms and join them by edges."""
    heads: list[int] = []
    atom_of = [-1] * len(snapshot)
    leaf_atoms: dict[int, int] = {}
    for node in order:
        atom_of[node] = len(heads)
        heads.append(node)
        for use in arranged.behind.get(node, ()):
            leaf_atoms.update(dict.fromkeys(use.edges, len(heads)))
            if atom_of[use.leaf] < 0:
                atom_of[use.leaf] = len(heads)
            heads.append(use.leaf)
    folded = Folded(snapshot, heads, atom_of, {}, [], [], [], [], copies=arranged.copies)
    _put_rows(folded, edges, arranged.rows)
    on_card = {position for positions in arranged.rows.values() for position in positions}
    for position, (first, last) in enumerate(zip(edges.first, edges.last, strict=True)):
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
    """Say for every merged node on whose card it is found: that of the operator whose edge it stands on."""
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
