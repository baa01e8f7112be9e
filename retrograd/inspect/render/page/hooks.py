"""Descriptions of the hooks of each node of a graph."""

from __future__ import annotations

from ...graphs.graph import Graph
from ...recording.events import Event, Recording
from .. import labels
from .structure import safe

_WORDS = {
    "tensor": "on the tensor",
    "node": "after the node",
    "node-pre": "before the node",
    "post-accumulate": "after accumulation",
}


def hooks_data(recording: Recording, snapshot: Graph) -> list[tuple[int, str]]:
    """Return (node, hook in words) for every hook that was registered on a node of a graph or on its tensor."""
    registered = [event for event in recording.events if _did(event, "registered") and event.op in _WORDS]
    if not registered:
        return []
    nodes = {number + snapshot.first_seq: node for node, number in enumerate(snapshot.seq) if number is not None}
    leaves = {name: node for node, name in enumerate(snapshot.name) if name and snapshot.kind[node] == "leaf"}
    ran = {event.data.get("handle") for event in recording.events if _did(event, "ran")}
    found = []
    for event in registered:
        node = _node(event, recording, nodes, leaves)
        if node is not None:
            found.append((node, _words(event, event.data.get("handle") in ran)))
    return found


def _did(event: Event, action: str) -> bool:
    """Return whether an event says that a hook was registered, or ran."""
    return event.kind == "hook" and event.data.get("action") == action


def _node(event: Event, recording: Recording, nodes: dict[int, int], leaves: dict[str, int]) -> int | None:
    """Return the node of a hook: its own, or the one that made its tensor."""
    if "node" in event.data:
        return nodes.get(event.data["node"])
    number = event.data.get("tensor")
    if not isinstance(number, int) or not 0 <= number < len(recording.tensors):
        return None
    tensor = recording.tensors[number]
    made_by = tensor.made_by
    if made_by is not None and 0 <= made_by < len(recording.events):
        made = recording.events[made_by].data.get("nodes")
        if made:
            return nodes.get(made[1] - 1)
    return leaves.get(tensor.name or "")


def _words(event: Event, ran: bool) -> str:
    """Return a hook in words: ``clip, on the tensor, train.py:7, never ran``."""
    name = safe(str(event.data.get("hook", "hook")))
    parts = [name, _WORDS[event.op], labels.source_text(event.source), "" if ran else "never ran"]
    return ", ".join(part for part in parts if part)
