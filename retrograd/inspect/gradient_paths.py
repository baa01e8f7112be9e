"""Finds the node on the path from the loss at which a gradient became zero or non-finite."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .graphs.graph import Graph


@dataclass
class GradientPath:
    """The path from a node to a root, and where on it the gradient became zero or non-finite."""

    rows: list[int] = field(default_factory=list)
    """Nodes from the given one towards the loss; those before ``born`` received a bad gradient already."""
    born: int | None = None
    """The first node that produces such a gradient; None if the root's is bad already, or if unknown."""
    first: int | None = None
    """The node that ``born`` passes it on to, or the node where it arises when gradients are added."""
    sources: tuple[int, ...] = ()
    """The nodes that pass gradients on to ``first``, if none of these gradients is bad alone."""
    known: bool = True
    """Whether all gradients that arrive on the path were measured."""


def arrives(snapshot: Graph, row: int, state: str) -> bool | None:
    """Whether the gradient that reached a node was zero, or non-finite; None if it was not measured."""
    measures = snapshot.measures
    norm = measures["grad_norm"][row] if "grad_norm" in measures else None
    if norm is None:
        return None
    if state == "zero":
        return norm == 0.0
    return not math.isfinite(norm) or bool(_count(snapshot, row, "nan_count") + _count(snapshot, row, "inf_count"))


def passes(snapshot: Graph, row: int, state: str) -> bool:
    """Whether everything that a node passed on was zero, or some of it non-finite."""
    if state == "zero":
        return _count(snapshot, row, "out_zero_share") == 1.0
    return bool(_count(snapshot, row, "out_nan_count") + _count(snapshot, row, "out_inf_count"))


def _count(snapshot: Graph, row: int, name: str) -> float:
    return (snapshot.measures[name][row] if name in snapshot.measures else None) or 0.0


def path_from(snapshot: Graph, start: int, state: str) -> GradientPath:
    """Follow a bad gradient from a node to where it arose, and on to a root."""
    senders, counts = _senders(snapshot), _result_counts(snapshot)
    path, at = GradientPath([start]), start
    while sources := senders.get(at, ()):
        given = [(arrives(snapshot, source, state), source) for source in sources]
        further = next((source for bad, source in given if bad), None)
        if further is None:
            further = next((source for bad, source in given if bad is None and _ran(snapshot, source)), None)
            path.known = path.known and further is None
        if further is None:
            _set_origin(path, at, sources, snapshot, state, counts)
            break
        path.rows.append(further)
        at = further
    _extend(path, senders)
    return path


def _set_origin(
    path: GradientPath, at: int, sources: list[int], snapshot: Graph, state: str, counts: dict[int, int]
) -> None:
    """Set the node that produced the bad gradient among those that pass gradients on to ``at``."""
    makers = [source for source in sources if passes(snapshot, source, state)]
    if not makers and state == "zero":
        makers = [source for source in sources if counts[source] > 1]
    path.first = at
    if makers:
        path.born = makers[0]
        path.rows.append(makers[0])
    else:
        path.sources = tuple(sources)
        path.rows.append(sources[0])


def _ran(snapshot: Graph, row: int) -> bool:
    order = snapshot.measures.get("order")
    return order is None or order[row] is not None


def _senders(snapshot: Graph) -> dict[int, list[int]]:
    """Return for each node the nodes that pass gradients on to it."""
    senders: dict[int, list[int]] = {}
    for start, end, _, _ in snapshot.edges():
        if start not in senders.setdefault(end, []):
            senders[end].append(start)
    return senders


def _result_counts(snapshot: Graph) -> dict[int, int]:
    """Return for each node to how many others it passes gradients on."""
    counts: dict[int, int] = {}
    for start, _, _, _ in snapshot.edges():
        counts[start] = counts.get(start, 0) + 1
    return counts


def _extend(path: GradientPath, senders: dict[int, list[int]]) -> None:
    """Extend a path to a root."""
    while sources := senders.get(path.rows[-1]):
        path.rows.append(sources[0])
