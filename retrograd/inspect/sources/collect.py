"""The walk itself: from root nodes of a torch-shaped graph into columns, breadth first, in one loop without recursion.

Nothing is asked of a node that could unpack a saved value, so that a graph whose buffers are freed, or with a
tensor changed in place, is pictured like any other.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Sequence
from typing import Any

from ..snapshot import GraphSnapshot
from .base import Facts, Node

LEAF_NUMBER = 2**64 - 1
"""Sequence number of AccumulateGrad in both engines: not a time."""

_dtypes: dict[Any, str] = {}


def collect(roots: Sequence[Node], facts: Facts) -> tuple[GraphSnapshot, list[Node]]:
    """Return the picture of everything behind the roots, and the nodes in its order.

    Columns that need more than the nodes (names, scopes, sources) are left empty for the caller.
    """
    places: dict[Node, int] = {}
    for root in roots:
        places.setdefault(root, len(places))
    order = list(places)
    shot = GraphSnapshot(engine=facts.engine, roots=[places[root] for root in roots])
    # A walk makes no garbage: the collector need not go through the growing heap again and again. With other
    # threads around it stays as it is, for one of them might be switching it at this moment.
    rest = gc.isenabled() and threading.active_count() == 1
    try:
        if rest:
            gc.disable()
        _walk(order, places, shot, facts)
    finally:
        if rest:
            gc.enable()
    shot.seq = [None if number == LEAF_NUMBER else number for number in shot.seq]
    shot.saved_bytes = facts.saved_bytes(order)
    return shot, order


def _walk(order: list[Node], index: dict[Node, int], shot: GraphSnapshot, facts: Facts) -> None:
    """Extend ``order`` by everything reachable and fill the columns that the nodes themselves tell.

    This loop is most of what a walk costs, and reads accordingly.
    """
    types: dict[type, tuple[str, str]] = {}  # of this walk only: a user's Function classes may be made anew each step
    op, kind, shape, dtype = shot.op.append, shot.kind.append, shot.shape.append, shot.dtype.append
    seq, enqueue, place_of = shot.seq.append, order.append, index.setdefault
    source, target = shot.edge_source.append, shot.edge_target.append
    input_nr, output_nr = shot.edge_input_nr.append, shot.edge_output_nr.append
    shapes: dict[tuple[int, ...], tuple[int, ...]] = {}  # equal ones are one object
    here, count = 0, len(order)
    for node in order:  # grows while it is read
        shown = types.get(type(node)) or _judge(node, facts, types)
        op(shown[0])
        kind(shown[1])
        try:
            first = node._input_metadata[0]
            known = _dtypes.get(first.dtype) or _dtype_name(first.dtype)
            extent = tuple(first.shape)
            shape(shapes[extent] if extent in shapes else _checked(extent, shapes))
            dtype(known)
        except Exception:  # no output, or a nested tensor that has no one shape
            shape(None)
            dtype(None)
        seq(node._sequence_nr())
        position = 0
        for child, number in node.next_functions:
            if child is not None:
                there = place_of(child, count)
                if there == count:
                    count += 1
                    enqueue(child)
                source(here)
                target(there)
                input_nr(position)
                output_nr(number)
            position += 1  # noqa: SIM113 - enumerate costs more here
        here += 1  # noqa: SIM113


def _checked(extent: tuple[Any, ...], shapes: dict[tuple[int, ...], tuple[int, ...]]) -> tuple[int, ...]:
    """Note a shape seen for the first time; one with symbolic sizes is refused."""
    if not all(type(size) is int for size in extent):
        raise TypeError
    shapes[extent] = extent
    return extent


def _judge(node: Node, facts: Facts, types: dict[type, tuple[str, str]]) -> tuple[str, str]:
    """Return shown name and kind of a node, and note them for its type unless that stands for many operators."""
    node_type = type(node)
    name = str(node.name())
    found = (short_name(name), facts.kind(node_type))
    if node_type.__name__ == name.rpartition("::")[2]:
        types[node_type] = found
    return found


def short_name(name: str) -> str:
    """Shorten ``torch::autograd::AccumulateGrad`` to its last part."""
    return name if "<" in name else name.rpartition("::")[2] or name


def _dtype_name(dtype: Any) -> str:
    """Return a dtype's name without its library's prefix, and remember that."""
    name = str(dtype).rpartition(".")[2]
    _dtypes[dtype] = name
    return name
