"""What a recorded program did with its custom Functions, so that only that is checked."""

from __future__ import annotations

from collections import defaultdict

from ..events import Event, Recording

_DERIVATIVES = ("grad", "jvp")
"""Levels of transforms that differentiate."""


class Uses:
    """By name of a Function: which of its outputs went on into the graph, and whether it was differentiated twice."""

    def __init__(self, recording: Recording) -> None:
        self.outputs: dict[str, set[int]] = defaultdict(set)
        """Places among the tensors that forward returned.  What a Function returns besides its result, such as
        statistics for its own backward, often has no gradient and needs none."""
        made: dict[int, tuple[str, int]] = {}
        """Tensor -> the Function that returned it last, and the place there."""
        for event in recording.events:
            for tensor in _taken(event):
                if tensor in made:
                    name, place = made[tensor]
                    self.outputs[name].add(place)
            if event.kind == "function" and event.data.get("action") == "forward":
                made.update((tensor, (event.op, place)) for place, tensor in enumerate(event.data.get("outputs", ())))
        rules = [event for event in recording.events if event.data.get("action") == "backward"]
        self.spread = {event.op for event in rules if event.data.get("spread")}
        """Those whose backward got gradients of which entries share memory."""
        self.twice = _differentiated_twice(recording)


def _taken(event: Event) -> list[int]:
    """Return the tensors that gradients go back to from what happened."""
    if event.kind == "backward":
        return list(event.data.get("roots", ()))
    return list(event.data.get("inputs", ())) if "nodes" in event.data or "node" in event.data else []


def _differentiated_twice(recording: Recording) -> set[str]:
    """Return the names of Functions whose backward was itself recorded, with another run to come.

    Transforms of ``torch.func`` record every backward; what matters is whether one of them, or a run, is around it.
    """
    runs = {event.data.get("run", -1): event.data for event in recording.events if event.kind == "backward"}
    recorded = {run for run, data in runs.items() if data.get("create_graph") and run != max(runs)}
    found, transformed, levels = set[str](), set[int](), 0
    for event in recording.events:
        run, action = event.data.get("run", -1), event.data.get("action")
        if event.kind == "transform" and "levels" in event.data:
            levels = sum(level in _DERIVATIVES for level in event.data["levels"])
        elif event.kind == "backward" and levels:
            transformed.add(run)
        elif event.kind == "function" and action == "forward" and levels > 1:
            found.add(event.op)
    outside = max(runs.keys() - transformed, default=-1)
    within = {event.data["run"] for event in recording.events if "nodes" in event.data and "run" in event.data}
    kept = {run for run in transformed & within if run < outside}
    rules = (event for event in recording.events if event.data.get("action") == "backward")
    return found | {event.op for event in rules if event.data.get("run") in (recorded - transformed) | kept}
