"""Nodes of the graphs that ran backward: their order, and which call, in which checkpoint, made each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from ...graphs.graph import Graph
from ...program.places import SourceLine
from ...recording.events import Event
from .flow import Flow
from .runs import Run


def largest_graphs(flow: Flow) -> Iterator[tuple[Run, Graph]]:
    """Yield (run, graph) for the largest graph of each line that runs backward."""
    largest: dict[SourceLine | None, Run] = {}
    for run in flow.runs:
        if run.snapshot is not None and not run.error:
            known = largest.get(run.source)
            size = len(flow.graph_of(run))
            if known is None or size > len(flow.graph_of(known)):
                largest[run.source] = run
    for run in largest.values():
        yield run, flow.graph_of(run)


def ran(snapshot: Graph) -> list[int]:
    """Return the nodes in the order in which they ran."""
    order = snapshot.measures["order"]
    return [node for _, node in sorted((when, node) for node, when in enumerate(order) if when is not None)]


def call_of(flow: Flow, snapshot: Graph, node: int) -> int | None:
    """Return the row of the call that made a node of a graph."""
    seq = snapshot.seq[node]
    return None if seq is None else flow.call_of_node(snapshot.first_seq + seq)


def checkpoint_around(flow: Flow, row: int) -> SourceLine | None:
    """Return the line of the reentrant checkpoint that computed a call without gradients, None for another call."""
    if flow.events[row].data.get("grad") is not False:
        return None
    blocks = flow.reentrant_blocks
    place = bisect_right(blocks, row, key=lambda event: event.data["first"]) - 1
    return blocks[place].source if place >= 0 and row < blocks[place].data["end"] else None


def switch_around(flow: Flow, row: int) -> Event | None:
    """Return the event that switched gradients off for a call, None if unknown."""
    found = flow.events[row].data.get("switch")
    if type(found) is not int or not 0 <= found < len(flow.events):
        return None
    return flow.events[found] if flow.events[found].kind == "grad-mode" else None
