"""Memory of a graph's saved tensors over time: it grows node by node in forward and falls as backward passes.

Memory that several nodes save is counted once, for the first of them: it is held from then on, and released when that
node has run, which is after all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..graphs.graph import Graph
from ..program.places import inside_words, short_place
from .events import Recording

ROWS = 10
"""Modules and lines that are named for one memory line."""


class Holder(NamedTuple):
    """A module or line of the program, and the bytes its nodes hold at the peak."""

    what: str
    held: int
    share: float


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """Bytes held after each node was made, then after each node ran."""

    held: tuple[int, ...]
    nodes: tuple[int, ...]
    """The node of each entry."""
    forward: int
    """How many entries belong to forward; the others belong to backward."""
    peak: int
    """The first entry with the most bytes."""
    modules: tuple[Holder, ...]
    """The modules that hold most at the peak, largest first; functions for nodes outside of modules."""
    lines: tuple[Holder, ...]
    unknown: int
    """Number of nodes whose saved tensors are unknown."""
    retained: bool
    """Whether backward freed nothing because of ``retain_graph``."""

    @property
    def most(self) -> int:
        """The bytes at the peak."""
        return self.held[self.peak]


def memory_line(snapshot: Graph, *, retained: bool = False) -> MemoryLine | None:
    """Return the memory line of one graph, None if nothing is known; a ``retained`` graph frees nothing."""
    kept = snapshot.measures.get("saved_bytes", snapshot.saved_bytes)
    made = sorted((number, node) for node, number in enumerate(snapshot.seq) if number is not None)
    nodes = [node for _, node in made]
    sizes = [int(kept[node] or 0) for node in nodes]
    if not any(sizes):
        return None
    ran = [] if retained else _ran(snapshot)
    steps = [*sizes, *(-int(kept[node] or 0) for node in ran)]
    held = tuple(accumulate(steps))
    peak = held.index(max(held))
    there = [(node, int(kept[node] or 0)) for node in nodes[: peak + 1]]
    modules = ((snapshot.scope[node] or _function(snapshot, node), size) for node, size in there)
    lines = ((_line(snapshot, node), size) for node, size in there)
    unknown = sum(kept[node] is None and snapshot.kind[node] != "leaf" for node in nodes)
    return MemoryLine(held, (*nodes, *ran), len(nodes), peak, _held(modules), _held(lines), unknown, retained)


def retained_runs(recording: Recording) -> set[int]:
    """Return the numbers of the graphs whose backward pass kept them (``retain_graph``)."""
    found = set()
    for event in recording.events:
        if event.kind == "backward" and (event.data.get("retain_graph") or event.data.get("create_graph")):
            found.add(event.data.get("snapshot", -1))
    return found


def thinned(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many values of a line, each the largest of its stretch, so that no peak is lost."""
    if len(values) <= most:
        return list(values)
    bounds = [len(values) * place // most for place in range(most + 1)]
    return [max(values[begin:end]) for begin, end in pairwise(bounds)]


def _ran(snapshot: Graph) -> list[int]:
    """Return the nodes that saved something and ran, in that order."""
    order = snapshot.measures.get("order", [])
    ran = sorted((place, node) for node, place in enumerate(order) if place is not None)
    return [node for _, node in ran if snapshot.seq[node] is not None]


def _held(sizes: Iterable[tuple[str, int]]) -> tuple[Holder, ...]:
    """Return the sums of sizes by name, largest first."""
    sums: dict[str, int] = {}
    for name, size in sizes:
        sums[name] = sums.get(name, 0) + size
    total = sum(sums.values())
    most = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:ROWS]
    return tuple(Holder(name, size, size / total) for name, size in most if size)


def _function(snapshot: Graph, node: int) -> str:
    at = snapshot.source[node]
    return f"{at.function}()" if at and at.function.isidentifier() else "outside of modules"


def _line(snapshot: Graph, node: int) -> str:
    at = snapshot.source[node]
    return short_place(at.file, at.line) + inside_words(at.inside) if at else "line unknown"
