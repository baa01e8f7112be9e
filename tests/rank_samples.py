"""Recordings of several ranks made by hand: equal ones, and copies that each go wrong in one way."""

from __future__ import annotations

from typing import Any

from recording_samples import graph

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording

LINE = SourceLine("train.py", 7, "step")


def network(line: int = 7) -> Graph:
    """A loss over two layers with two parameters each, all of it run; ``n0`` is the loss."""
    made = graph([(0, 1), (1, 2), (2, 3), (1, 4), (3, 5), (3, 6), (1, 7)], leaves=(4, 5, 6, 7))
    made.op[:4] = ["SumBackward0", "AddmmBackward0", "TanhBackward0", "AddmmBackward0"]
    made.source = [SourceLine("train.py", line + row, "forward") if row < 4 else None for row in range(8)]
    made.measures = {
        "order": [0.0, 1.0, 2.0, 5.0, 3.0, 6.0, 7.0, 4.0],
        "grad_norm": [1.0, 1.0, 0.5, 0.25, 2.0, 3.0, 4.0, 5.0],
        "nan_count": [0.0] * 8,
    }
    return made


def rank(number: int, *steps: Graph, world: int = 4, stopped: bool = False) -> Recording:
    """The recording of one rank; ``stopped`` leaves its last backward run open."""
    events = []
    for place in range(len(steps)):
        events.append(Event("backward", source=LINE, data={"snapshot": place, "run": place}))
        if not (stopped and place == len(steps) - 1):
            events.append(Event("backward-end", source=LINE, data={"run": place}))
    return Recording(
        script="train.py", engine="torch", graphs=list(steps), events=events, rank=number, world_size=world
    )


def ranks(count: int, steps: int = 2) -> list[Recording]:
    """Ranks that all did the same."""
    return [rank(number, *(network() for _ in range(steps)), world=count) for number in range(count)]


def nodes_of(plain: dict[str, Any], side: str) -> list[Any]:
    """The nodes on one side of the differences of a comparison."""
    return [one[side] and one[side]["node"] for one in plain["divergence"]["differences"]]
