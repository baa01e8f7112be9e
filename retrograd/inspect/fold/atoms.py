"""From nodes to atoms: operators in the order of backward, leaves on their operator's card or once per use.

Which leaf stands where is decided in ``uses``; here atoms are numbered and joined by edges.
"""

from __future__ import annotations

from ..progress import followed
from ..snapshot import GraphSnapshot
from .folded import Folded
from .order import execution_order
from .plumbing import Edges, merge_plumbing
from .uses import Uses, find_uses

_HANGING = ("leaf", "ghost")
"""Kinds of nodes that hang on operators (a ghost stands for what an edge led to before it was cut)."""


def make_atoms(snapshot: GraphSnapshot, merged: bytearray, *, parameters: bool) -> Folded:
    """Return the folded graph without any scopes; ``merged`` nodes stand on edges."""
    edges = merge_plumbing(snapshot, merged)
    leaves = _leaves(snapshot)
    order = execution_order(snapshot, [node for node in range(len(snapshot)) if not (merged[node] or leaves[node])])
    uses = find_uses(snapshot, edges, leaves, order, parameters)
    return _assemble(snapshot, merged, edges, leaves, order, uses)


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


def _assemble(
    snapshot: GraphSnapshot, merged: bytearray, edges: Edges, leaves: bytearray, order: list[int], uses: Uses
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
