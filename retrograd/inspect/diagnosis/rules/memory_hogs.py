"""Steps that are right but waste memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ...graphs.graph import Graph
from ...operators import Trait
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import limits_and_sum
from ..facts.flow import Flow
from ..facts.nodes import call_of, largest_graphs
from ..facts.runs import Run
from ..text.spelling import is_name
from ..text.words import at, shape_text
from ..thresholds import BLOW_UP, HALF_OF_IT, MIB, MOST_OF_IT, NEARLY_ALL


def is_one_hot(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor, as it was before a row, was made of indices and has one entry in each row or each column."""
    shape = flow.facts(tensor).shape
    last = flow.last_producer(tensor, row)
    if len(shape) < 2 or last is None or not (flow.inputs(last) and prod(shape)):  # an identity is not a selection
        return False
    lines = {prod(shape) // size for size in shape[-2:] if size > 1}
    return _sum_of_ones(flow, tensor, last) in lines or _written(flow, tensor, row) in lines


def _sum_of_ones(flow: Flow, tensor: int, last: int) -> float | None:
    """Return the sum of a tensor that a call has made or written, if it lies between zero and one."""
    if not flow.events[last].data.get("range"):
        return None
    limits, total = limits_and_sum(flow, tensor, last + 1)
    return total if limits is not None and list(limits) == [0.0, 1.0] else None


def _written(flow: Flow, tensor: int, row: int) -> int:
    """Return how many entries of a tensor of zeros were written by index."""
    made = flow.made_in.get(tensor)
    if not made or list(flow.events[made[0]].data.get("range", [None])[0] or ()) != [0.0, 0.0]:
        return 0
    writes = [write for write in flow.writes_into(tensor) if made[0] < write < row]
    if not all(flow.does(write, Trait.INDEXING) for write in writes):
        return 0
    counts = [_entries(flow, write, tensor) for write in writes]
    return sum(counts) if all(counts) else 0


def _entries(flow: Flow, write: int, tensor: int) -> int:
    """Return how many entries a write by index fills, by the indices or by what was written; 0 if unknown."""
    indices = [prod(flow.facts(one).shape) for one in flow.inputs(write) if one != tensor]
    if indices:
        return max(indices)
    data = flow.events[write].data
    limits, sums = (data.get("range") or [None])[0], data.get("checksum") or [None]
    return round(sums[0]) if sums[0] and limits is not None and list(limits) == [1.0, 1.0] else 0


KINDS = {
    "memory-hog": Kind("one node keeps most of the saved memory", "warning", Stage.COST),
}
_SMALLER = (
    "compute it without the large intermediate (such as |a|^2 + |b|^2 - 2 a @ b.T for pairwise distances), in chunks, "
    "or under torch.utils.checkpoint"
)


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the largest graph of each line that runs backward."""
    for run, snapshot in largest_graphs(flow):
        graph = _Graph(run, snapshot, _computed_bytes(flow, snapshot))
        if graph.largest >= MIB:
            case = _hog(flow, graph) or _paired(flow, graph) or _lookup(flow, graph)
            if case is not None:
                yield case


CHECK = Check("cost", KINDS, find)


@dataclass(frozen=True, slots=True)
class _Graph:
    """A graph that ran backward, and the bytes that each of its nodes keeps."""

    run: Run
    snapshot: Graph
    saved: list[float]
    """Without the bytes of leaves, which are there whether or not a node keeps them."""

    @property
    def total(self) -> float:
        """Bytes that all nodes keep."""
        return sum(self.saved)

    @property
    def largest(self) -> float:
        """Bytes of the node that keeps most."""
        return max(self.saved, default=0)


def _computed_bytes(flow: Flow, snapshot: Graph) -> list[float]:
    """Return the bytes that each node saves of computed tensors, without parameters."""
    saved = [size or 0 for size in snapshot.measures.get("saved_bytes", snapshot.saved_bytes)]
    leaves: set[int | None] = set()
    for node, size in enumerate(saved):
        row = call_of(flow, snapshot, node) if size >= MIB else None
        for tensor in () if row is None else flow.events[row].data.get("saves", ()):
            storage = flow.facts(tensor).storage
            if storage not in leaves and _is_weight(flow, tensor):
                leaves.add(storage)
                saved[node] = max(0, saved[node] - _bytes(flow, tensor))
    return saved


def _hog(flow: Flow, graph: _Graph) -> Case | None:
    """Return the case of a node that saves most of a graph's bytes, in a tensor much larger than its origin."""
    row = call_of(flow, graph.snapshot, graph.saved.index(graph.largest))
    saves = [] if row is None else flow.events[row].data.get("saves", ())
    kept = [t for t in saves if not flow.is_leaf(t) and not _is_weight(flow, t)]
    if row is None or not kept or graph.largest < HALF_OF_IT * graph.total:
        return None
    tensor = max(kept, key=lambda one: _size(flow, one))
    after = row + 1  # the call may keep what it made itself
    if 2 * _bytes(flow, tensor) < graph.largest or _size(flow, tensor) < BLOW_UP * _largest_origin(flow, tensor, after):
        return None
    if _made_by_a_layer(flow, tensor, after):
        return None
    made = flow.last_producer(tensor, row, gradients=True)
    if made is not None and tensor in flow.events[made].data.get("saves", ()):
        row = made  # of several that keep it, the one that made it
    event, shape = flow.events[row], shape_text(flow.facts(tensor).shape)
    name = flow.name(tensor, event.source)
    shown = f"{name} of shape {shape}" if flow.spelling.has_name(tensor) else f"a tensor of shape {shape}"
    message = (
        f"{_mib(graph.largest)} MiB of the {_mib(graph.total)} MiB of memory saved for backward "
        f"({graph.largest / graph.total:.0%}) is {shown}, kept by {event.op}{at(event.source)}."
    )
    return _case(flow, graph, (row, tensor), message, graph.largest)


def _largest_origin(flow: Flow, tensor: int, row: int) -> int:
    """Return the size of the largest tensor, made of no other, that a tensor was computed from."""
    behind = flow.behind([tensor], row, gradients=False).tensors
    return max((_size(flow, one) for one in behind if _is_origin(flow, one)), default=1)


def _made_by_a_layer(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor became so large in a product with trained weights, as in a layer."""
    made = flow.last_producer(tensor, row)
    while made is not None:
        given = flow.inputs(made)
        largest = max(given, key=lambda one: _size(flow, one), default=None)
        if largest is None or 2 * _size(flow, largest) < _size(flow, tensor):
            return flow.does(made, Trait.CONTRACTION) and any(_is_weight(flow, one) for one in given)
        tensor, made = largest, flow.last_producer(largest, made)
    return False


def _paired(flow: Flow, graph: _Graph) -> Case | None:
    """Return the case of entries broadcast against each other: several nodes keep values of the size that this gave."""
    keeping = [size for size in graph.saved if size >= NEARLY_ALL * graph.largest]
    if len(keeping) < 2 or sum(keeping) < MOST_OF_IT * graph.total:
        return None
    for row in sorted(flow.reached_by(graph.run).calls):
        event = flow.events[row]
        made = event.data.get("outputs", ())
        sizes = [_size(flow, one) for one in flow.inputs(row)]
        size = _size(flow, made[0]) if made else 0
        if (
            flow.does(row, Trait.ELEMENTWISE)
            and sizes
            and size >= BLOW_UP * max(sizes)
            and _bytes(flow, made[0]) >= NEARLY_ALL * graph.largest
        ):
            name = flow.name(made[0], event.source)
            shown = name if flow.spelling.has_name(made[0]) else "a result"
            message = (
                f"{event.op}{at(event.source)} makes {shown} of shape {shape_text(flow.facts(made[0]).shape)}, "
                f"every entry against every other, and {len(keeping)} nodes keep values of that size: "
                f"{_mib(sum(keeping))} of the {_mib(graph.total)} MiB of memory saved for backward "
                f"({sum(keeping) / graph.total:.0%})."
            )
            return _case(flow, graph, (row, made[0]), message, sum(keeping), " from here on")
    return None


def _lookup(flow: Flow, graph: _Graph) -> Case | None:
    """Return the case of a product with a one-hot matrix, for which most of a graph's bytes are saved."""
    row = call_of(flow, graph.snapshot, graph.saved.index(graph.largest))
    if row is None or not flow.does(row, Trait.CONTRACTION) or graph.largest < HALF_OF_IT * graph.total:
        return None
    event = flow.events[row]
    kept = [one for one in event.data.get("saves", ()) if not (flow.requires_grad(one) or flow.has_history(one, row))]
    tensor = max(kept, key=lambda one: _size(flow, one), default=None)
    if tensor is None or 2 * _size(flow, tensor) < sum(_size(flow, one) for one in event.data["saves"]):
        return None
    if not is_one_hot(flow, tensor, row):
        return None
    name = flow.name(tensor, event.source)
    shown = f"{name} of shape" if flow.spelling.has_name(tensor) else "a matrix of shape"
    table = next((flow.name(one, event.source) for one in flow.inputs(row) if one != tensor), "table")
    message = (
        f"{_mib(graph.largest)} MiB of the {_mib(graph.total)} MiB of memory saved for backward "
        f"({graph.largest / graph.total:.0%}) is {shown} {shape_text(flow.facts(tensor).shape)}, one-hot and kept by "
        f"{event.op}{at(event.source)}, which only picks entries of {table} with it."
    )
    remedy = f"pick them by index: {table if is_name(table) else 'table'}[indices], or torch.nn.functional.embedding"
    return _case(flow, graph, (row, tensor), message, graph.largest, remedy=remedy)


def _case(
    flow: Flow,
    graph: _Graph,
    large: tuple[int, int],
    message: str,
    kept: float,
    where: str = "",
    remedy: str = _SMALLER,
) -> Case:
    """Return the case of a call and the large tensor that it made or keeps."""
    row, tensor = large
    event = flow.events[row]
    return Case(
        kind="memory-hog",
        message=message,
        remedy=remedy,
        source=event.source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(graph.run, [row], f"{_mib(kept)} MiB{where}"),
        evidence={"bytes": kept, "total": graph.total, "shape": list(flow.facts(tensor).shape)},
    )


def _mib(size: float) -> str:
    return f"{size / MIB:.1f}"


def _size(flow: Flow, tensor: int) -> int:
    """Return how many entries a tensor has."""
    return prod(flow.facts(tensor).shape)


def _is_weight(flow: Flow, tensor: int) -> bool:
    """Whether a tensor is a parameter, or a view of one."""
    shared = [tensor, *flow.same_memory(tensor)]
    return bool(flow.trainable(shared)) or any(flow.facts(one).parameter for one in shared)


def _bytes(flow: Flow, tensor: int) -> int:
    """Return how many bytes the entries of a tensor take."""
    bits = re.search(r"\d+", flow.facts(tensor).dtype)
    return _size(flow, tensor) * (1 if bits is None else int(bits[0]) // 8)


def _is_origin(flow: Flow, tensor: int) -> bool:
    """Whether a tensor was made of no other tensor."""
    return all(not flow.inputs(row) for row in flow.made_in.get(tensor, ()))
