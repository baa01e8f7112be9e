"""The walk: copies a graph with ``next_functions`` into columns, breadth first, in one loop without recursion.

Nothing is read from a node that could unpack a saved tensor, so that a graph whose buffers are freed, or with a saved
tensor changed in place, is walked like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..garbage import collector_paused
from ..graphs.graph import Graph
from ..program.signals import reraise_from_handler
from ..progress import followed, progress
from .base import Facts, Node

LEAF_NUMBER = 2**64 - 1
"""Sequence number of AccumulateGrad in both engines: not a time."""

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that somebody made and that may go again

_dtypes: dict[Any, str] = {}
_lasting: dict[type, tuple[str, str]] = {}
"""Shown name and kind of node types that live as long as the process, such as PyTorch's own."""


class Collected(NamedTuple):
    """Result of a walk: the snapshot, the nodes in order, and the tensor of each leaf by its index."""

    snapshot: Graph
    order: list[Node]
    leaves: dict[int, Any]


def collect(roots: Sequence[Node], facts: Facts) -> Collected:
    """Return a snapshot of everything behind the roots.

    Columns that need more than the nodes (names, scopes, sources) are left empty for the caller.
    """
    places: dict[Node, int] = {}
    for root in roots:
        places.setdefault(root, len(places))
    order = list(places)
    leaves: dict[int, Any] = {}
    snapshot = Graph(engine=facts.engine, roots=[places[root] for root in roots])
    with collector_paused(), progress("walking the graph"):
        _walk(order, places, leaves, snapshot, facts)
    snapshot.seq = [None if (number := node._sequence_nr()) == LEAF_NUMBER else number for node in order]
    snapshot.saved_bytes = facts.saved_bytes(order)
    return Collected(snapshot, order, leaves)


def _walk(order: list[Node], index: dict[Node, int], leaves: dict[int, Any], snapshot: Graph, facts: Facts) -> None:
    """Append everything reachable to ``order``, and fill the columns that the nodes themselves provide.

    This loop is most of what a walk costs, and reads accordingly.
    """
    types: dict[type, tuple[str, str]] = {}  # of this walk only: a user's Function classes may be made anew each step
    op, kind, shape, dtype = snapshot.op.append, snapshot.kind.append, snapshot.shape.append, snapshot.dtype.append
    enqueue, place_of = order.append, index.setdefault
    source, target = snapshot.edge_source.append, snapshot.edge_target.append
    input_nr, output_nr = snapshot.edge_input_nr.append, snapshot.edge_output_nr.append
    shapes: dict[tuple[int, ...], tuple[int, ...]] = {}  # equal ones are one object
    plain = facts.plain_tensors
    here, count = 0, len(order)
    for node in followed(order):  # grows while it is read
        shown, sort = types.get(type(node)) or _judge(node, facts, types)
        op(shown)
        kind(sort)
        try:
            if sort == "leaf":  # reading the tensor costs a tenth of reading the metadata
                leaves[here] = first = node.variable
                if type(first) not in plain:
                    first = node._input_metadata[0]
            else:
                first = node._input_metadata[0]
            known = _dtypes.get(first.dtype) or _dtype_name(first.dtype)
            extent = tuple(first.shape)
            shape(shapes.get(extent) or _checked(extent, shapes))
            dtype(known)
        except Exception as failure:  # no output, or a nested tensor that has no one shape
            reraise_from_handler(failure)
            shape(None)
            dtype(None)
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
    """Note a new shape; symbolic sizes are rejected."""
    if not all(type(length) is int for length in extent):
        raise TypeError
    shapes[extent] = extent
    return extent


def _judge(node: Node, facts: Facts, types: dict[type, tuple[str, str]]) -> tuple[str, str]:
    """Return shown name and kind of a node, cached by type unless the type serves several operators."""
    node_type = type(node)
    if node_type in _lasting:
        found = types[node_type] = _lasting[node_type]
        return found
    name = str(node.name())
    found = (short_name(name), facts.kind(node_type))
    if node_type.__name__ == name.rpartition("::")[2]:
        types[node_type] = found
        if not node_type.__flags__ & _HEAP_TYPE:
            _lasting[node_type] = found
    return found


def short_name(name: str) -> str:
    """Shorten ``torch::autograd::AccumulateGrad`` to its last part."""
    return name if "<" in name else name.rpartition("::")[2] or name


def _dtype_name(dtype: Any) -> str:
    """Return a dtype's name without its library's prefix, and remember that."""
    name = str(dtype).rpartition(".")[2]
    _dtypes[dtype] = name
    return name
