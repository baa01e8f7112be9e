"""What recordings of one program on two engines must have in common beside calls: all other events, graphs, figures."""

from __future__ import annotations

import math
from typing import Any

from retrograd.inspect.graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Graph
from retrograd.inspect.recording.event_data import (
    BY_TENSOR_KEYS,
    MEASURES,
    ROW_KEYS,
    TENSOR_KEYS,
    TENSOR_OF_NAME_KEYS,
    TENSORS_KEYS,
)
from retrograd.inspect.recording.events import OPERATIONS, Event, Recording

APART = {
    "seconds": "measured",
    "began": "measured",
    "error": "our engine says what to do in words of its own; the type is compared",
    "saved_bytes": "PyTorch does not tell: they are added up of what calls were seen to keep",
    "order": "a sweep of our engine runs leaves after the nodes around them",
    "time_us": "measured",
    "started_us": "measured",
    "seq": "numbers of nodes, see below",
    "call": "our engine's modules call no function of their name",
}
"""Data of events, columns and figures that differ, and why."""
KINDS_APART = {
    "error": "the exception itself, whose words differ",
    "accumulate": "compared by themselves",
    "autocast": "checkpoints of PyTorch switch it, too",
}
"""Kinds of events that are not compared, and why."""
PRESENT = {
    "node": "numbers count from where the recording began, and our engine numbers what an optimizer writes, too",
    "failed_node": "likewise",
    **dict.fromkeys(ROW_KEYS, "rows of events count calls, of which our engine makes some of several"),
}
"""Data of which only that it is there is compared, and why."""
_CLOSE = 2e-3
_GRAPH = (*NODE_COLUMNS, *EDGE_COLUMNS, "roots", "root_names")


def happened(recording: Recording) -> list[Any]:
    """Everything that a recording tells but calls, in words that do not depend on the engine."""
    found, handles = [], dict[int, int]()
    for event in recording.events:
        if event.kind not in (*OPERATIONS, *KINDS_APART):
            line, data = event.source and (event.source.line, event.source.function), _data(recording, event)
            if "handle" in data:  # which each process counts on
                data["handle"] = handles.setdefault(data["handle"], len(handles))
            found.append((event.kind, event.op, line, data))
    return found


def arrived(recording: Recording) -> list[Any]:
    """The gradients that arrived, by run and leaf: they are told in an order that is the engine's own."""
    found = [_data(recording, event) for event in recording.events if event.kind == "accumulate"]
    return sorted(found, key=lambda data: (data["run"], str(data["tensor"])))


def _data(recording: Recording, event: Event) -> dict[str, Any]:
    """The data of an event, tensors by what is known of them."""

    def tensor(number: int) -> tuple[Any, ...]:
        facts = recording.tensors[number]
        return facts.name, tuple(facts.shape), facts.dtype, facts.requires_grad

    found: dict[str, Any] = {}
    for key, value in event.data.items():
        if key in PRESENT:
            found[key] = ...
        elif key in TENSOR_KEYS:
            found[key] = tensor(value)
        elif key in TENSORS_KEYS:
            found[key] = list(map(tensor, value))
        elif key in TENSOR_OF_NAME_KEYS and isinstance(value, dict):
            found[key] = {name: tensor(number) for name, number in value.items()}
        elif key in BY_TENSOR_KEYS:
            found[key] = {tensor(int(number)): one for number, one in value.items()}
        elif key not in APART and value is not None:
            found[key] = value
    return found


def drawn(snapshot: Graph) -> dict[str, Any]:
    """The columns and figures of a graph."""
    found = {column: getattr(snapshot, column) for column in _GRAPH if column not in APART}
    measures = snapshot.measures
    return found | {name: measures[name] for name in MEASURES if name in measures and name not in APART}


def differences(mine: Any, other: Any, path: str = "") -> list[str]:
    """Where two things differ, numbers by more than rounding."""
    if isinstance(mine, dict) and isinstance(other, dict):
        found = []
        for key in [*mine, *(key for key in other if key not in mine)]:
            where = f"{path}.{key}"
            both = key in mine and key in other
            found += differences(mine[key], other[key], where) if both else [f"{where} is only there on one side"]
        return found
    if isinstance(mine, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(mine) != len(other):
            return [f"{path}: {len(mine)} and {len(other)} entries"]
        pairs = enumerate(zip(mine, other, strict=True))
        return [one for place, (a, b) in pairs for one in differences(a, b, f"{path}[{place}]")]
    if isinstance(mine, (int, float)) and isinstance(other, (int, float)) and not isinstance(mine, bool):
        alike = math.isclose(mine, other, rel_tol=_CLOSE, abs_tol=1e-6) or (math.isnan(mine) and math.isnan(other))
        return [] if alike else [f"{path}: {mine} and {other}"]
    return [] if mine == other else [f"{path}: {mine!r} and {other!r}"]
