"""Matrices with a single one in each row: a product with one picks rows, which indices do without the matrix."""

from __future__ import annotations

from math import prod

from ..recorded.call_inputs import limits_and_sum
from ..recorded.flow import Flow


def is_one_hot(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor, as it was before a row, was made of indices and has one entry in each row or each column."""
    shape = flow.facts(tensor).shape
    last = flow.last_producer(tensor, row)
    if len(shape) < 2 or last is None or not (flow.inputs(last) and prod(shape)):  # an identity is no selection
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
    """Return how many entries were written by index into what was made as zeros."""
    made = flow.made_in.get(tensor)
    if not made or list(flow.events[made[0]].data.get("range", [None])[0] or ()) != [0.0, 0.0]:
        return 0
    writes = [write for write in flow.writes_into(tensor) if made[0] < write < row]
    if any(flow.events[write].op not in ("setitem", "index_put") for write in writes):
        return 0
    counts = [_entries(flow, write, tensor) for write in writes]
    return sum(counts) if all(counts) else 0


def _entries(flow: Flow, write: int, tensor: int) -> int:
    """Return how many entries a write by index fills, by the indices or by what was written; 0 where neither tells."""
    indices = [prod(flow.facts(one).shape) for one in flow.inputs(write) if one != tensor]
    if indices:
        return max(indices)
    data = flow.events[write].data
    limits, sums = (data.get("range") or [None])[0], data.get("checksum") or [None]
    return round(sums[0]) if sums[0] and limits is not None and list(limits) == [1.0, 1.0] else 0
