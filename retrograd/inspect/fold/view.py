"""``View``: a folded graph with some scopes open: boxes, frames around them, and counted edges."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .folded import ROOT, Folded, Item

_PLAIN = ("graph", "block", "stretch", "chain")
"""Kinds of scopes that have no frame when open: their content is drawn among the rest."""


class Box(NamedTuple):
    """One card: an atom, or a closed scope."""

    begin: int
    """The atoms ``begin`` to ``end - 1`` are inside."""
    end: int
    scope: int
    """The closed scope, -1 for an atom."""
    frame: int
    """The frame around it: a place in ``View.frames``; 0 is the drawing itself."""
    copies: int
    """How many equal cards it represents, because repeats around it show one block only."""


class Frame(NamedTuple):
    """An open scope that is drawn around what it holds."""

    scope: int
    parent: int
    """The frame around it, -1 for the drawing itself."""
    repeats: int
    """How many equal blocks it represents while it shows one; 1 otherwise."""


@dataclass(slots=True)
class View:
    """Boxes in the order of backward, frames (parents first), and edges between boxes."""

    folded: Folded
    boxes: list[Box]
    frames: list[Frame]
    box_of: np.ndarray
    """For each atom the box in which it is drawn."""
    sources: list[int]
    """Per edge the box that it leaves."""
    targets: list[int]
    edges: list[int]
    """Per edge the edge of ``folded`` whose shape and numbers it shows."""
    counts: list[int]
    """For each edge the number of edges of ``folded`` it represents."""

    def values(self) -> list[int]:
        """Return per edge a number of the value it carries, an output of a node; edges of one value may meet."""
        last, original = self.folded.last_edges, self.folded.original
        edges, count = [last[edge] for edge in self.edges], len(original)
        return [original.edge_target[edge] + count * original.edge_output_nr[edge] for edge in edges]

    def feeds(self, frame: int) -> list[tuple[int, int]]:
        """Return how a block of an open repeat hands its gradient to the next one: box that sends, box that gets."""
        scope = self.folded.scopes[self.frames[frame].scope]
        length = len(scope) // scope.repeats
        edges = zip(self.folded.sources, self.folded.targets, strict=True)
        middle, end = scope.begin + length, scope.begin + 2 * length
        pairs = ((source, target) for source, target in edges if scope.begin <= source < middle <= target < end)
        return list(dict.fromkeys((int(self.box_of[source]), int(self.box_of[target])) for source, target in pairs))

    def turned(self) -> View:
        """Return the view in the direction of values: inputs first, and edges from producer to consumer."""
        last = len(self.boxes) - 1
        return View(
            self.folded,
            self.boxes[::-1],
            self.frames,
            last - self.box_of,
            [last - box for box in reversed(self.targets)],
            [last - box for box in reversed(self.sources)],
            self.edges[::-1],
            self.counts[::-1],
        )

    def box_of_node(self, node: int) -> int:
        """Return the box in which a node of the original is seen."""
        return int(self.box_of[self.folded.atom_of[node]])


def view(folded: Folded, opened: Collection[int], unrolled: Collection[int] = (), apart: Collection[int] = ()) -> View:
    """Return the view with these scopes open (by number; the root always is).

    An open repeat shows one of its blocks, for all; one in ``unrolled`` shows every block. Edges of the original in
    ``apart``, through which no gradient flows, are only counted together with each other.
    """
    made = _Maker(folded, frozenset(opened), frozenset(unrolled), frozenset(apart))
    made.run()
    return made.finish()


class _Maker:
    """One pass over the open scopes, outermost first."""

    def __init__(self, folded: Folded, opened: frozenset[int], unrolled: frozenset[int], apart: frozenset[int]) -> None:
        self.folded, self.opened, self.unrolled, self.apart = folded, opened, unrolled, apart
        self.frames = [Frame(ROOT, -1, 1)]
        self.boxes: list[Box] = []
        self.shown: list[int] = []
        """Open repeats that show one block, outer ones first."""

    def run(self) -> None:
        """Find boxes and frames, without recursion."""
        waiting: list[tuple[int, int, int]] = [(ROOT, 0, 1)]
        while waiting:
            number, frame, copies = waiting.pop()
            for item in self._inside(number):
                if item.scope < 0 or item.scope not in self.opened:
                    self.boxes.append(Box(item.begin, item.end, item.scope, frame, copies))
                else:
                    waiting.append(self._open(item.scope, frame, copies))
        self.boxes.sort()

    def _inside(self, number: int) -> list[Item]:
        """Return the content of an open scope; for a repeat, that of the one block drawn for all."""
        scope = self.folded.scopes[number]
        if scope.kind != "repeat" or number in self.unrolled:
            return self.folded.items(number)
        self.shown.append(number)
        if scope.children:
            return self.folded.items(scope.children[0])
        return [Item(scope.begin, scope.begin + 1, -1)]

    def _open(self, number: int, frame: int, copies: int) -> tuple[int, int, int]:
        """Return what is left to do for a scope that is open, with a frame of its own if it has one."""
        scope = self.folded.scopes[number]
        rolled = scope.kind == "repeat" and number not in self.unrolled
        if scope.kind in _PLAIN or (scope.kind == "repeat" and not (rolled or scope.aliases)):
            return number, frame, copies
        self.frames.append(Frame(number, frame, scope.repeats if rolled else 1))
        return number, len(self.frames) - 1, copies * (scope.repeats if rolled else 1)

    def finish(self) -> View:
        """Find the box of every atom and join the boxes by edges."""
        folded, scopes = self.folded, self.folded.scopes
        box_of = np.zeros(len(folded), dtype=np.int64)
        for number, box in enumerate(self.boxes):
            box_of[box.begin : box.end] = number
        sources = np.asarray(folded.sources, dtype=np.int64)
        targets = np.asarray(folded.targets, dtype=np.int64)
        keep = np.ones(len(sources), dtype=bool)
        # Inner repeats first, so that the block that an outer one copies from is already complete.
        for scope in (scopes[number] for number in reversed(self.shown)):
            first_end = scope.begin + len(scope) // scope.repeats
            box_of[scope.begin : scope.end] = np.tile(box_of[scope.begin : first_end], scope.repeats)
            both = _within(sources, scope.begin, scope.end) & _within(targets, scope.begin, scope.end)
            keep &= ~both | (_within(sources, scope.begin, first_end) & _within(targets, scope.begin, first_end))
        return self._joined(box_of, sources, targets, keep)

    def _joined(self, box_of: np.ndarray, sources: np.ndarray, targets: np.ndarray, keep: np.ndarray) -> View:
        """Return the view, with the edges between the same two boxes counted together unless both are atoms."""
        folded = self.folded
        start, end = box_of[sources], box_of[targets]
        closed = np.asarray([box.scope >= 0 or box.copies > 1 for box in self.boxes], dtype=bool)
        keep &= (start != end) | ~closed[start] if len(closed) else keep
        made = View(folded, self.boxes, self.frames, box_of, [], [], [], [])
        chosen = np.flatnonzero(keep)
        edges, starts, ends = chosen.tolist(), start[chosen].tolist(), end[chosen].tolist()
        if not closed.any():  # every edge of an open graph has two atoms and is seen by itself
            made.edges, made.sources, made.targets, made.counts = edges, starts, ends, [1] * len(edges)
            return made
        found: dict[tuple[int, int, int], int] = {}
        for edge, source, target in zip(edges, starts, ends, strict=True):
            plain, first = not (closed[source] or closed[target]), folded.first_edges[edge]
            number = folded.original.edge_input_nr[first] if plain else self._strand(edge, source, target)
            place = found.setdefault((source, target, number), len(made.edges))
            if place < len(made.edges):
                made.counts[place] += 1
                continue
            made.sources.append(source)
            made.targets.append(target)
            made.edges.append(edge)
            made.counts.append(1)
        return made

    def _strand(self, edge: int, source: int, target: int) -> int:
        """Return the key of edges between two boxes that are counted together."""
        folded, (one, other) = self.folded, (self.boxes[source], self.boxes[target])
        if folded.first_edges[edge] in self.apart:
            return -1
        within = one.scope < 0 and other.scope < 0 and one.copies == other.copies  # both in a block that represents all
        return folded.original.edge_output_nr[folded.last_edges[edge]] if within else 0


def _within(atoms: np.ndarray, begin: int, end: int) -> np.ndarray:
    """Return which atoms lie in a run."""
    return (atoms >= begin) & (atoms < end)
