"""Bytes that the nodes of a graph save for backward, from the notes of their calls or from the nodes themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....graphs.graph import Graph
from ...array_values import Array
from ..backward.release import raise_stack_limit

_SAFE_TOUCHES = 15_000
_SAFE_TOUCHES_THREAD = 800
_FEW = 10_000
MOST_FRESH = 300_000
"""Numbers that calls may note before they are put into rows, which take a fifth of the memory."""
_MOST_ROWS = 500_000
_TOGETHER = 2_000
"""Rows up to which what follows is put behind them."""
_NO_ROWS = np.empty((0, 3), np.int64)


class _Touched(threading.local):
    """How many nodes of the current graph were touched on one thread, and how many may be."""

    def __init__(self) -> None:
        self.count, self.most = 0, _SAFE_TOUCHES_THREAD

    def may_be_more(self) -> bool:
        """Allow more if they can still be freed: the main thread's stack is large, and can grow."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if self.count <= _SAFE_TOUCHES:
            self.most = _SAFE_TOUCHES
        elif raise_stack_limit(2 * self.count):
            self.most = 2 * self.count
        return self.count <= self.most


class SavedSizes:
    """Which memory the nodes of a recording keep, as the calls that made them noted it, in order."""

    def __init__(self) -> None:
        self.fresh: list[int] = []
        """Node, memory and bytes by turns, of what was kept lately; calls add to it."""
        self._known: list[_Rows] = []
        """The same of earlier calls."""
        self._latest: _Filled | None = None
        self._touched = _Touched()

    def fill(self, snapshot: Graph) -> None:
        """Fill in what the nodes of a graph keep; one that keeps what the latest did gets the same columns."""
        self.reset_touched()
        self.take_up()
        latest, before = self._latest, snapshot.saved_bytes
        same = latest is not None and latest.numbering.seq is snapshot.seq
        numbering = latest.numbering if latest is not None and same else _Numbering.of(snapshot.seq)
        kept = _Kept.by(numbering, snapshot.first_seq, self._known)
        if latest is None or not same or latest.before is not before or latest.key != kept.key():
            self._latest = latest = _Filled(numbering, kept.key(), before, *kept.columns(numbering, before))
        latest.enter(snapshot)
        self._forget(_FEW + 4 * len(snapshot))

    def take_up(self) -> None:
        """Put what calls have noted into rows."""
        fresh, self.fresh = self.fresh, []
        if not fresh:
            return
        rows = np.array(fresh, np.int64).reshape(-1, 3)
        if self._known and len(self._known[-1].rows) < _TOGETHER:
            rows = np.concatenate((self._known.pop().rows, rows))
        self._known.append(_Rows(rows, int(rows[:, 0].min()), int(rows[:, 0].max())))
        self._forget(_MOST_ROWS)

    def _forget(self, most: int) -> None:
        """Forget the oldest nodes, once there are more than so many: a long program has other graphs by now."""
        count = sum(len(one.rows) for one in self._known)
        while count > 2 * most and len(self._known) > 1:
            count -= len(self._known.pop(0).rows)

    def may_touch(self, nodes: int) -> bool:
        """Whether that many more nodes may be touched: deep graphs that were cannot be freed on a small stack."""
        touched = self._touched
        touched.count += nodes
        return touched.count <= touched.most or touched.may_be_more()

    def reset_touched(self) -> None:
        """Reset the count: the current graph is protected by a walk."""
        self._touched.count = 0


def fill_from_nodes(snapshot: Graph, order: Sequence[Any], kept_memories: Callable[[Any], dict[Hashable, int]]) -> None:
    """Fill in what the nodes of a graph save by reading each node, if calls were not observed; unpacks nothing."""
    numbers = dict[Hashable, int]()
    rows = [(number, -1, 0) for number in snapshot.seq if number is not None]  # also of those that keep nothing
    for node, number in zip(order, snapshot.seq, strict=True):
        if number is not None:
            kept = kept_memories(node).items()
            rows += [(number, numbers.setdefault(memory, len(numbers)), size) for memory, size in kept]
    numbering, known = _Numbering.of(snapshot.seq), np.array(rows, np.int64).reshape(-1, 3)
    before = snapshot.saved_bytes
    found = _Kept.by(numbering, 0, [_Rows(known, 0, int(known[:, 0].max(initial=0)))])
    _Filled(numbering, found.key(), before, *found.columns(numbering, before)).enter(snapshot)


class _Rows(NamedTuple):
    """Node, memory and bytes, a row each."""

    rows: Array
    lowest: int
    highest: int
    """Of the nodes."""


class _Numbering(NamedTuple):
    """The numbered nodes of a graph, as they were made."""

    seq: list[int | None]
    """The column that this is of."""
    numbers: Array
    places: list[int]
    """The row of each in the graph."""

    @classmethod
    def of(cls, seq: list[int | None]) -> _Numbering:
        """Sort the numbers of a column."""
        found = sorted((number, place) for place, number in enumerate(seq) if number is not None)
        return cls(seq, np.array([number for number, _ in found], np.int64), [place for _, place in found])


class _Kept(NamedTuple):
    """What the nodes of one graph keep: an entry for each memory of each node, in the order of the nodes."""

    nodes: Array
    """Places in the numbering."""
    sizes: Array
    first: Array
    """Whether no node before it keeps the memory."""

    @classmethod
    def by(cls, numbering: _Numbering, first_seq: int, known: Sequence[_Rows]) -> _Kept:
        """Pick out of all that is known what the nodes of one graph keep."""
        numbers = numbering.numbers + first_seq
        lowest, highest = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, -1)
        near = [one.rows for one in known if one.highest >= lowest and one.lowest <= highest]
        rows = np.concatenate(near) if near else _NO_ROWS
        rows = rows[(rows[:, 0] >= lowest) & (rows[:, 0] <= highest)]
        nodes = np.searchsorted(numbers, rows[:, 0])
        inside = np.equal(numbers[nodes], rows[:, 0]) if len(rows) else np.zeros(0, bool)
        nodes, memories, sizes = nodes[inside], rows[inside, 1], rows[inside, 2]
        order = np.lexsort((memories, nodes))
        nodes, memories, sizes = nodes[order], memories[order], sizes[order]
        last = np.ones(len(nodes), bool)  # of a memory that one node keeps several times the last word counts
        last[:-1] = (nodes[1:] != nodes[:-1]) | (memories[1:] != memories[:-1])
        first = np.zeros(int(last.sum()), bool)
        first[np.unique(memories[last], return_index=True)[1]] = True
        return cls(nodes[last], sizes[last], first)

    def key(self) -> tuple[bytes, ...]:
        """Return something equal for graphs of one numbering whose columns are equal."""
        return self.nodes.tobytes(), self.sizes.tobytes(), self.first.tobytes()

    def columns(
        self, numbering: _Numbering, before: list[int | None]
    ) -> tuple[list[int | None], list[float | None] | None]:
        """Return bytes by row, and of each memory only at the node made first; no such column if nothing is kept."""
        sizes, once, places = list(before), list[float | None]([None] * len(before)), numbering.places
        total, new = np.bincount(self.nodes, self.sizes), np.bincount(self.nodes, self.sizes * self.first)
        for node in np.unique(self.nodes).tolist():
            sizes[places[node]], once[places[node]] = int(total[node]), float(new[node])
        return sizes, once if self.sizes.any() else None


class _Filled(NamedTuple):
    """What was filled in, and what it depends on."""

    numbering: _Numbering
    key: tuple[bytes, ...]
    before: list[int | None]
    sizes: list[int | None]
    once: list[float | None] | None

    def enter(self, snapshot: Graph) -> None:
        """Fill it in."""
        snapshot.saved_bytes = self.sizes
        if self.once is not None:
            snapshot.measures["saved_bytes"] = self.once
