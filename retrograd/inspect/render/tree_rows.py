"""A graph as the rows of an indented outline: every node once, later arrivals as references, in bounded time.

Below a node are its leaves and short branches, one level deeper; its longest branch goes on at the node's own level. So
a chain of any length stays on one level, and a network of residual blocks on two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..graphs.graph import Graph
from ..layout.ranks import Adjacency, longest_path_ranks


class Row(NamedTuple):
    """One row of the outline."""

    node: int
    depth: int
    """Level of indentation, 0 for a root."""
    continues: bool
    """Whether the row above it at the same level flows into this one."""
    reference: bool
    """Whether the node has a row of its own elsewhere."""
    output_nr: int
    """Forward output of the node that the row above or around it uses."""


class _Step(NamedTuple):
    """Work to do: give ``row``, and first lay out the branch that begins there if ``begins``."""

    row: Row
    begins: bool


class Outline:
    """The rows of one snapshot, made as they are asked for."""

    def __init__(self, snapshot: Graph) -> None:
        self._count = len(snapshot)
        self._roots = snapshot.roots
        edges = range(snapshot.edge_count)
        self._edges = Adjacency(self._count, snapshot.edge_source, edges)
        self._targets, self._outputs = snapshot.edge_target, snapshot.edge_output_nr
        # How far below a node the graph goes on: its rank in the graph with all edges turned round.
        self._heights = longest_path_ranks(self._count, snapshot.edge_target, snapshot.edge_source)
        self._placed = bytearray(self._count)

    def rows(self, limit: int) -> list[Row]:
        """Return the first ``limit`` rows."""
        rows: list[Row] = []
        for root in [*self._roots, *range(self._count)]:
            if len(rows) >= limit:
                break
            if not self._placed[root]:
                self._add_branch(root, rows, limit)
        return rows

    def _add_branch(self, root: int, rows: list[Row], limit: int) -> None:
        """Add the rows of all that hangs below ``root``."""
        stack = [_Step(Row(root, 0, False, False, 0), True)]
        while stack and len(rows) < limit:
            row, begins = stack.pop()
            if begins and self._placed[row.node]:
                rows.append(row._replace(reference=True))
            elif begins:
                stack.extend(reversed(list(self._branch(row, limit - len(rows)))))
            else:
                rows.append(row)

    def _branch(self, start: Row, limit: int) -> Iterator[_Step]:
        """Yield the rows of the longest path from ``start`` on, each followed by the branches that leave it."""
        path = self._longest_path(start.node, limit)
        node, row = start.node, start
        for edge in [*path, None]:
            yield _Step(row, False)
            for side in self._edges.of(node):
                if side != edge:
                    yield _Step(Row(self._targets[side], row.depth + 1, False, False, self._outputs[side]), True)
            if edge is not None:
                node = self._targets[edge]
                row = Row(node, row.depth, True, False, self._outputs[edge])

    def _longest_path(self, node: int, limit: int) -> list[int]:
        """Return the edges of a longest path down from ``node``, at most ``limit``, and place its nodes."""
        path: list[int] = []
        self._placed[node] = 1
        while len(path) < limit:
            edges = self._edges.of(node)
            free = [edge for edge in edges if not self._placed[self._targets[edge]]]
            if not free:
                break
            best = max(free, key=lambda edge: self._heights[self._targets[edge]])
            if len(edges) > 1 and not self._heights[self._targets[best]]:
                break  # only leaves are left: they all stand below their node
            path.append(best)
            node = self._targets[best]
            self._placed[node] = 1
        return path
