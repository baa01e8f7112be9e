"""Finds the node on the path from the loss where a gradient became zero or not finite."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .graphs.graph import Graph


@dataclass
class Way:
    """The nodes from one to a root, and where on them its gradient became what it is."""

    rows: list[int] = field(default_factory=list)
    """From the node on, towards the loss; what is below ``born`` got such a gradient already."""
    born: int | None = None
    """The first node that passes on such a gradient; None if the root's is already such, or if unknown."""
    first: int | None = None
    """The node below it, or that where one came in between."""
    sources: tuple[int, ...] = ()
    """The nodes that pass something on to ``first``, if not one of them passes on such a gradient."""
    known: bool = True
    """Whether all that arrives on the way was measured."""


def arrives(snapshot: Graph, row: int, state: str) -> bool | None:
    """Whether the gradient that reached a node was zero, or not finite; None where that was not measured."""
    measures = snapshot.measures
    norm = measures["grad_norm"][row] if "grad_norm" in measures else None
    if norm is None:
        return None
    if state == "zero":
        return norm == 0.0
    return not math.isfinite(norm) or bool(_count(snapshot, row, "nan_count") + _count(snapshot, row, "inf_count"))


def passes(snapshot: Graph, row: int, state: str) -> bool:
    """Whether all that a node passed on was zero, or some of it not finite."""
    if state == "zero":
        return _count(snapshot, row, "out_zero_share") == 1.0
    return bool(_count(snapshot, row, "out_nan_count") + _count(snapshot, row, "out_inf_count"))


def _count(snapshot: Graph, row: int, name: str) -> float:
    return (snapshot.measures[name][row] if name in snapshot.measures else None) or 0.0


def way_from(snapshot: Graph, start: int, state: str) -> Way:
    """Go from a node with such a gradient to where it was born, and on to a root."""
    leading, parts = _leading(snapshot), _parts(snapshot)
    way, at = Way([start]), start
    while sources := leading.get(at, ()):
        given = [(arrives(snapshot, source, state), source) for source in sources]
        further = next((source for bad, source in given if bad), None)
        if further is None:
            further = next((source for bad, source in given if bad is None and _ran(snapshot, source)), None)
            way.known = way.known and further is None
        if further is None:
            _end(way, at, sources, snapshot, state, parts)
            break
        way.rows.append(further)
        at = further
    _go_on(way, leading)
    return way


def _end(way: Way, at: int, sources: list[int], snapshot: Graph, state: str, parts: dict[int, int]) -> None:
    """Note which of the nodes that lead to one made its gradient what it is: one of several results may be alone so."""
    makers = [source for source in sources if passes(snapshot, source, state)]
    if not makers and state == "zero":
        makers = [source for source in sources if parts[source] > 1]
    way.first = at
    if makers:
        way.born = makers[0]
        way.rows.append(makers[0])
    else:
        way.sources = tuple(sources)
        way.rows.append(sources[0])


def _ran(snapshot: Graph, row: int) -> bool:
    order = snapshot.measures.get("order")
    return order is None or order[row] is not None


def _leading(snapshot: Graph) -> dict[int, list[int]]:
    """For each node those that pass gradients on to it."""
    found: dict[int, list[int]] = {}
    for start, end, _, _ in snapshot.edges():
        if start not in found.setdefault(end, []):
            found[end].append(start)
    return found


def _parts(snapshot: Graph) -> dict[int, int]:
    """To how many places each node passes gradients on."""
    found: dict[int, int] = {}
    for start, _, _, _ in snapshot.edges():
        found[start] = found.get(start, 0) + 1
    return found


def _go_on(way: Way, leading: dict[int, list[int]]) -> None:
    """Lengthen a way to a root."""
    while sources := leading.get(way.rows[-1]):
        way.rows.append(sources[0])
