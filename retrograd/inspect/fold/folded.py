"""``Folded``: a simplified graph, with everything that is needed to get back to the graph itself.

Minor nodes are drawn on another node's card (see ``plumbing`` and ``atoms``); what is left are *atoms*. Atoms are
numbered as backward reaches them, the latest executed operator first, and a *scope* (a module, a call of a function, a
run of repeated blocks) is always a run of consecutive atoms. So scopes nest, a closed scope never makes a cycle, and
the ``k`` blocks of a repeat are ``k`` stretches of equal length whose atoms correspond one to one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..graphs.graph import INPUT, Graph


def reading_order(count: int, sources: Sequence[int], targets: Sequence[int], inputs: Sequence[int]) -> list[int]:
    """Return the numbers 0 to ``count - 1``, each before all that its edges lead to, the first inputs first.

    ``inputs`` is for each edge the input of its source that it represents; layouts draw them from left to right.
    It is the reverse of the order in which a search depth first leaves them, when it takes the last inputs first.
    """
    starts, below = _rows(count, sources, targets, inputs)
    entered = bytearray(count)
    left: list[int] = []
    for top in _tops(count, targets):
        stack = [top]
        while stack:
            here = stack[-1]
            if not entered[here]:
                entered[here] = 1
                stack += [target for target in below[starts[here] : starts[here + 1]] if not entered[target]]
                continue
            stack.pop()
            if entered[here] == 1:
                entered[here] = 2
                left.append(here)
    return left[::-1]


def nested_order(
    flat: Sequence[int], levels: Sequence[np.ndarray], sources: np.ndarray, targets: np.ndarray
) -> list[int]:
    """Return the numbers in an order that keeps the content of each box together, as close to ``flat`` as possible.

    ``levels`` has, outermost first, for each number the box that contains it, or one of its own; boxes make no cycle.
    """
    rank = np.empty(len(flat), dtype=np.int64)
    rank[np.asarray(flat, dtype=np.int64)] = np.arange(len(flat))
    columns: list[np.ndarray] = []
    together = np.ones(len(sources), dtype=bool)
    for level in levels:
        here = np.flatnonzero(together & (level[sources] != level[targets]))
        columns.append(_level_ranks(rank, level, sources[here], targets[here]))
        together &= level[sources] == level[targets]
    order: list[int] = np.lexsort((rank, *reversed(columns))).tolist()
    return order


def _level_ranks(rank: np.ndarray, level: np.ndarray, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return for each number the rank of its box: each box comes before all that its edges lead to."""
    by_rank = np.argsort(rank)
    _, first, box_of = np.unique(level[by_rank], return_index=True, return_inverse=True)
    boxes = np.empty(len(rank), dtype=np.int64)
    boxes[by_rank] = np.argsort(np.argsort(first))[box_of]  # boxes are numbered as their first members rank
    starts, ends = boxes[sources], boxes[targets]
    order = reading_order(len(first), starts.tolist(), ends.tolist(), ends.tolist())
    place = np.empty(len(first), dtype=np.int64)
    place[np.asarray(order, dtype=np.int64)] = np.arange(len(first))
    return place[boxes]


def _rows(
    count: int, sources: Sequence[int], targets: Sequence[int], inputs: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return where the targets of each number begin in a list of all, and that list: by source, then by input."""
    order = np.lexsort((np.asarray(inputs, dtype=np.int64), np.asarray(sources, dtype=np.int64)))
    starts = np.searchsorted(np.asarray(sources, dtype=np.int64)[order], np.arange(count + 1))
    return starts.tolist(), np.asarray(targets, dtype=np.int64)[order].tolist()


def _tops(count: int, targets: Sequence[int]) -> list[int]:
    """Return the nodes without incoming edges, last first, followed by the others, of which only cycles remain."""
    is_target = np.zeros(count, dtype=bool)
    is_target[np.asarray(targets, dtype=np.int64)] = True
    return [*np.flatnonzero(~is_target)[::-1].tolist(), *np.flatnonzero(is_target).tolist()]


_CALL = re.compile(r"#\d+(?=/|$)")
ROOT = 0
"""The scope that holds the whole graph."""


@dataclass(slots=True)
class Scope:
    """A box that can be closed: the atoms ``begin`` to ``end - 1`` and the scopes inside it."""

    label: str
    """Its short name: ``self_attn``, ``layers 0-11``."""
    path: str
    """Its whole name, unique in the graph and accepted by ``--expand``: ``model/layers/3/self_attn``."""
    kind: str
    """``graph`` (the root), ``module``, ``function``, ``repeat``, ``block`` (one round of a repeat without a module
    of its own), ``chain`` or ``stretch`` (neighbours put together because there are too many)."""
    parent: int
    """The scope around it; -1 for the root."""
    begin: int
    end: int
    children: list[int] = field(default_factory=list)
    """Scopes directly inside, in order of their atoms."""
    repeats: int = 1
    """How many equal blocks it holds, its children (or, where it has none, single atoms); 1 if it is not a repeat."""
    aliases: tuple[str, ...] = ()
    """Paths of scopes that held the same and were made one with this."""

    def __len__(self) -> int:
        return self.end - self.begin


class Item(NamedTuple):
    """An atom or a scope directly inside a scope, and the atoms it contains."""

    begin: int
    end: int
    scope: int
    """Number of the scope, -1 for an atom."""


@dataclass(slots=True)
class Folded:
    """A snapshot, its atoms, the edges between them and the tree of scopes.

    ``view`` (in ``fold.view``) turns it into what is seen when some scopes are open: boxes, frames and edges.
    """

    original: Graph
    heads: list[int]
    """Per atom the node of the original that it shows."""
    atom_of: list[int]
    """For each original node the atom it is drawn on (for a leaf drawn once per use, the first of them)."""
    rows: dict[int, tuple[int, ...]]
    """Atoms with parameters on their card: the leaves, in the order of the operator's inputs."""
    sources: list[int]
    """For each edge the atom that it leaves; edges point in the direction in which gradients flow."""
    targets: list[int]
    first_edges: list[int]
    """Per edge the edge of the original that leaves the source (its position: ``edge_input_nr``)."""
    last_edges: list[int]
    """Per edge the edge of the original that enters the target; another than the first where plumbing was merged."""
    scopes: list[Scope] = field(default_factory=list)
    copies: dict[int, int] = field(default_factory=dict)
    """Leaves that are drawn more than once: how often."""
    _way_on: dict[int, int] = field(default_factory=dict, repr=False)
    """Node -> an edge that leaves it; for a merged node, the only one."""
    _places: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False)
    _reading_order: list[int] = field(default_factory=list, repr=False)
    _use_numbers: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.heads)

    def items(self, number: int) -> list[Item]:
        """Return the items directly inside a scope, in order."""
        scope = self.scopes[number]
        found: list[Item] = []
        place = scope.begin
        for child in scope.children:
            inner = self.scopes[child]
            found += [Item(atom, atom + 1, -1) for atom in range(place, inner.begin)]
            found.append(Item(inner.begin, inner.end, child))
            place = inner.end
        found += [Item(atom, atom + 1, -1) for atom in range(place, scope.end)]
        return found

    def names(self, number: int) -> set[str]:
        """Return all paths that mean a scope; without its ``#2``, a path means every call of a module."""
        scope = self.scopes[number]
        paths = {scope.path, *scope.aliases}
        return paths | {_CALL.sub("", path) for path in paths}

    def operator(self, atom: int) -> str:
        """Return what the program called for an atom, or the short name of its operator; of an input, its name."""
        node = self.heads[atom]
        if self.original.kind[node] == INPUT and (name := self.original.name[node]):
            return name
        return self.original.call[node] or self.original.op[node].partition("Backward")[0]

    def class_of(self, number: int) -> str:
        """Return the class of the module that a scope is, of a repeat that of its blocks; "" if it is not known."""
        scope = self.scopes[number]
        if scope.kind == "repeat" and scope.children:
            scope = self.scopes[scope.children[0]]
        return self.original.classes.get(_CALL.sub("", scope.path), "")

    def title(self, number: int) -> str:
        """Return the name of a scope, with its class: ``encoder: TransformerEncoderLayer``."""
        label, of = self.scopes[number].label, self.class_of(number)
        return f"{label}: {of}" if of and of != label else label

    def via(self, edge: int) -> Iterator[int]:
        """Yield the nodes of the original that were merged into an edge, in the direction of the gradient."""
        here, last = self.first_edges[edge], self.last_edges[edge]
        if here != last and not self._way_on:
            self._way_on = {source: number for number, source in enumerate(self.original.edge_source)}
        while here != last:
            node = self.original.edge_target[here]
            yield node
            here = self._way_on[node]

    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Return per leaf that is drawn more than once its places, in the order in which a drawing is read.

        A place is a row of an atom's card, or (row -1) an atom that is a leaf.
        """
        if self.copies and not self._places:
            self._places = {leaf: [] for leaf in self.copies}
            for atom in self.reading_order():
                for row, leaf in ((-1, self.heads[atom]), *enumerate(self.rows.get(atom, ()))):
                    if leaf in self._places:
                        self._places[leaf].append((atom, row))
        return self._places

    def reading_order(self) -> list[int]:
        """Return the atoms in the order in which a drawing is read; those of a scope stay together."""
        if not self._reading_order:
            inputs = np.asarray(self.original.edge_input_nr, dtype=np.int64)[self.first_edges]
            flat = reading_order(len(self), self.sources, self.targets, inputs.tolist())
            sources, targets = (np.asarray(ends, dtype=np.int64) for ends in (self.sources, self.targets))
            self._reading_order = nested_order(flat, self._levels(), sources, targets)
        return self._reading_order

    def _levels(self) -> list[np.ndarray]:
        """Return per depth, the root's children first, the scope around each atom, or the atom itself without one."""
        found: list[np.ndarray] = []
        depths = [-1] * len(self.scopes)
        for number, scope in enumerate(self.scopes[1:], 1):  # parents come before their children
            depth = depths[number] = depths[scope.parent] + 1
            if depth == len(found):
                found.append(np.arange(len(self), dtype=np.int64))
            found[depth][scope.begin : scope.end] = len(self) + number
        return found

    def use_text(self, atom: int, row: int = -1) -> str:
        """Return `` (2 of 4)`` for the second of four ``places`` of a leaf, "" where it is drawn once."""
        if not self.copies:
            return ""
        if not self._use_numbers:
            self._use_numbers = {at: number for uses in self.places().values() for number, at in enumerate(uses, 1)}
        number = self._use_numbers.get((atom, row))
        leaf = self.heads[atom] if row < 0 else self.rows[atom][row]
        return f" ({number} of {self.copies[leaf]})" if number else ""

    def members(self) -> list[list[int]]:
        """Return for each atom all original nodes that are drawn on it, its head first."""
        found = [[head] for head in self.heads]
        for node, atom in enumerate(self.atom_of):
            if node != self.heads[atom]:
                found[atom].append(node)
        return found

    def scope_of_atoms(self) -> np.ndarray:
        """Return per atom the innermost scope around it."""
        inner = np.zeros(len(self), dtype=np.int64)
        for number, scope in enumerate(self.scopes):  # parents come before their children
            inner[scope.begin : scope.end] = number
        return inner

    def above(self, number: int) -> list[int]:
        """Return a scope and its ancestors, innermost first."""
        found = []
        while number >= 0:
            found.append(number)
            number = self.scopes[number].parent
        return found
