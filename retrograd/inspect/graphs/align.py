"""Aligns two graphs: finds which nodes correspond, by structure, in time linear in nodes and edges.

Criteria are applied from the strongest to the weakest, and each match spreads to its neighbours at once:

1. nodes with the same graph above and below them;  2. the same graph below them;  3. the same graph above them;
4. the roots;  5. the same neighbours;  6. the same operator at the same place among what is left
of a module that both have.

Last, an operator in the place of another is taken for its replacement.  Shapes, dtypes and statistics do not count as
structure, so that a changed batch size leaves every node where it was.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence

from ..progress import followed, tick
from .graph import EDGE_COLUMNS, Graph

DDP_PREFIX = "module."
"""Prefix that DistributedDataParallel and DataParallel add to the names of parameters."""


def align(before: Graph, after: Graph) -> list[int | None]:
    """Return for each node of ``before`` its node in ``after``, or None; each of these is used at most once."""
    if _same_structure(before, after):
        return list(range(len(before)))
    return _Alignment(_Graph(before), _Graph(after)).found()


def plain_name(name: str | None) -> str | None:
    """Return a parameter's name without the prefix of a data-parallel wrapper."""
    return name.removeprefix(DDP_PREFIX) if name else name


def _same_structure(before: Graph, after: Graph) -> bool:
    """Whether the graphs are equal node by node and edge by edge, as two runs of one program are."""
    columns = ("op", "kind", *EDGE_COLUMNS, "roots")
    return all(getattr(before, column) == getattr(after, column) for column in columns) and (
        before.name == after.name or _leaf_names(before) == _leaf_names(after)
    )


def _leaf_names(snapshot: Graph) -> list[str | None]:
    """Return the names of leaves, None for other nodes."""
    pairs = zip(snapshot.name, snapshot.kind, strict=True)
    return [plain_name(name) if kind == "leaf" else None for name, kind in pairs]


class _Graph:
    """One graph, with what the alignment needs."""

    def __init__(self, snapshot: Graph) -> None:
        self.size = len(snapshot)
        names = _leaf_names(snapshot)
        self.label: list[tuple[str, str, str | None]] = list(zip(snapshot.op, snapshot.kind, names, strict=True))
        self.kind: list[tuple[str, str]] = list(zip(snapshot.op, snapshot.kind, strict=True))
        self.roots, self.scope = snapshot.roots, snapshot.scope
        self.children: list[list[tuple[int, int, int]]] = [[] for _ in range(self.size)]
        self.parents: list[list[tuple[int, int, int]]] = [[] for _ in range(self.size)]
        for source, target, input_nr, output_nr in snapshot.edges():
            self.children[source].append((input_nr, output_nr, target))
            self.parents[target].append((input_nr, output_nr, source))
        for row in self.children:
            row.sort()
        made = [-1 if number is None else -number for number in snapshot.seq]
        self.by_age = sorted(range(self.size), key=made.__getitem__)
        """Nodes newest first, as a backward pass visits them."""

    def from_roots(self) -> list[int]:
        """Return the nodes in topological order from the roots; nodes on a cycle come last."""
        waiting = [len(row) for row in self.parents]
        order = [node for node in range(self.size) if not waiting[node]]
        for node in order:
            for _, _, child in self.children[node]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        if len(order) < self.size:
            placed = set(order)
            order += [node for node in range(self.size) if node not in placed]
        return order


class _Alignment:
    """The matches made so far, and the steps that make more."""

    def __init__(self, before: _Graph, after: _Graph) -> None:
        self._graphs = (before, after)
        self._match: list[int | None] = [None] * before.size
        self._back: list[int | None] = [None] * after.size
        self._codes: dict[Hashable, int] = {}
        self._fresh: deque[tuple[int, int]] = deque()

    def found(self) -> list[int | None]:
        """Return the alignment."""
        above, below = self._context(down=False), self._context(down=True)
        both = [list(zip(*pair, strict=True)) for pair in zip(above, below, strict=True)]
        self._match_equal(*both)
        self._match_equal(*below, only_one=True)
        self._match_equal(*above, only_one=True)
        for pair in zip(self._graphs[0].roots, self._graphs[1].roots, strict=False):
            self._join(*pair)
        self._spread()
        if not all(self._free()):
            return self._match
        self._match_equal(*map(self._neighbours, self._graphs))
        self._match_equal(*self._labels_in_scopes(), as_far_as_they_go=True)
        self._match_replaced()
        return self._match

    # -- evidence
    def _context(self, *, down: bool) -> list[list[int]]:
        """Return for each node a number for the whole graph below (or above) it; equal graphs have equal numbers."""
        return [self._numbered(graph, down) for graph in self._graphs]

    def _numbered(self, graph: _Graph, down: bool) -> list[int]:
        numbers = [-1] * graph.size
        order = graph.from_roots()
        neighbours = graph.children if down else graph.parents
        for node in followed(reversed(order) if down else order):
            around = [(numbers[other], place, output) for place, output, other in neighbours[node]]
            around.sort()
            numbers[node] = self._codes.setdefault((down, graph.label[node], *around), len(self._codes))
        return numbers

    @staticmethod
    def _neighbours(graph: _Graph) -> list[Hashable]:
        """Return each node's label with those of its neighbours."""
        label = graph.label
        return [
            (
                label[node],
                tuple((place, label[child]) for place, _, child in graph.children[node]),
                tuple(sorted((place, graph.kind[parent]) for place, _, parent in graph.parents[node])),
            )
            for node in range(graph.size)
        ]

    def _labels_in_scopes(self) -> list[list[Hashable]]:
        """Return each node's label, with its scope if both graphs have that scope."""
        both = set(self._graphs[0].scope).intersection(self._graphs[1].scope)
        return [
            [(label, scope if scope in both else "") for label, scope in zip(graph.label, graph.scope, strict=True)]
            for graph in self._graphs
        ]

    # -- matching
    def _match_equal(
        self,
        before: Sequence[Hashable],
        after: Sequence[Hashable],
        *,
        only_one: bool = False,
        as_far_as_they_go: bool = False,
    ) -> None:
        """Match free nodes with equal keys, in order of age, if there are equally many (or one) on both sides."""
        free = self._free()
        groups: dict[Hashable, list[int]] = {}
        for node in free[0]:
            groups.setdefault(before[node], []).append(node)
        others: dict[Hashable, list[int]] = {}
        for node in free[1]:
            if after[node] in groups:
                others.setdefault(after[node], []).append(node)
        for key, right in others.items():
            left = groups[key]
            if as_far_as_they_go or (len(left) == len(right) and not (only_one and len(left) > 1)):
                for pair in zip(left, right, strict=False):
                    self._join(*pair)
        self._spread()

    def _free(self) -> tuple[list[int], list[int]]:
        """Return the unmatched nodes of both sides, newest first."""
        before, after = self._graphs
        return (
            [node for node in before.by_age if self._match[node] is None],
            [node for node in after.by_age if self._back[node] is None],
        )

    def _join(self, left: int, right: int, *, replaced: bool = False) -> None:
        """Match two nodes if both are free and of one kind."""
        same = replaced or self._graphs[0].kind[left] == self._graphs[1].kind[right]
        if same and self._match[left] is None and self._back[right] is None:
            self._match[left], self._back[right] = right, left
            self._fresh.append((left, right))

    def _spread(self) -> None:
        """Match the neighbours of new matches: operands in the same position, and users if equally many."""
        before, after = self._graphs
        while self._fresh:
            tick()
            left, right = self._fresh.popleft()
            places = {(place, output): child for place, output, child in after.children[right]}
            for place, output, child in before.children[left]:
                if (place, output) in places:
                    self._join(child, places[place, output])
            users = self._users(before, self._match, left), self._users(after, self._back, right)
            for key, group in users[0].items():
                others = users[1].get(key, ())
                if len(group) == len(others):
                    for pair in zip(group, others, strict=True):
                        self._join(*pair)

    @staticmethod
    def _users(graph: _Graph, taken: list[int | None], node: int) -> dict[Hashable, list[int]]:
        """Return the free nodes that use a node, by operator and operand position."""
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for place, output, parent in graph.parents[node]:
            if taken[parent] is None:
                groups[place, output, graph.kind[parent]].append(parent)
        return groups

    def _match_replaced(self) -> None:
        """Match nodes of different operators between the same neighbours, or in the same module."""
        before, after = self._graphs
        waiting = deque((left, right) for left, right in enumerate(self._match) if right is not None)
        while waiting:
            left, right = waiting.popleft()
            for child, other in self._free_operands(left, right):
                in_one_module = before.scope[child] == after.scope[other] != ""
                if in_one_module or self._share_a_neighbour(before.children[child], after.children[other]):
                    self._join(child, other, replaced=True)
                    waiting.append((child, other))
        self._fresh.clear()

    def _free_operands(self, left: int, right: int) -> Iterable[tuple[int, int]]:
        """Yield the unmatched operands of two matched nodes that have the same position."""
        places = {place: child for place, _, child in self._graphs[1].children[right]}
        for place, _, child in self._graphs[0].children[left]:
            other = places.get(place)
            if other is not None and self._match[child] is None and self._back[other] is None:
                yield child, other

    def _share_a_neighbour(self, left: list[tuple[int, int, int]], right: list[tuple[int, int, int]]) -> bool:
        """Whether some operands of the two nodes are matched with each other, or both have none."""
        theirs = {child for _, _, child in right}
        return (not left and not right) or any(self._match[child] in theirs for _, _, child in left)
