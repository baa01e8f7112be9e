"""Chrome traces: what stands where on the time axis, on which row, and that every name is harmless."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from recording_samples import chain, graph, hostile, recording

from retrograd.errors import NoGraphError
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.snapshot import GraphSnapshot

TRACE = renderer_for("x.trace.json")


def events(*snapshots: GraphSnapshot, step: str = "last") -> list[dict[str, Any]]:
    """Render, parse as strict JSON, and check what the trace event format asks of every event."""
    text = TRACE.render(recording(*snapshots), RenderOptions(step=step))
    found: list[dict[str, Any]] = json.loads(text, parse_constant=pytest.fail)["traceEvents"]
    for event in found:
        assert event["ph"] in "XM"
        assert isinstance(event["name"], str)
        assert event["name"]
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
    return found


def slices(found: list[dict[str, Any]]) -> list[tuple[str, float, float, int]]:
    """Name, beginning, duration and thread of each slice."""
    return [(event["name"], event["ts"], event["dur"], event["tid"]) for event in found if event["ph"] == "X"]


def timed() -> GraphSnapshot:
    """Three nodes on two threads; one did not run."""
    made = graph([(0, 1), (0, 2), (1, 3)], leaves=(3,))
    made.label = "backward 1"
    made.measures = {
        "time_us": [5.0, 7.0, 2.0, None],
        "started_us": [1.0, 8.0, 8.5, None],
        "thread": [0, 1, 0, None],
        "order": [0, 1, 2, None],
        "grad_norm": [1.0, float("nan"), 2.0, None],
    }
    return made


def test_times_and_threads_are_those_of_the_recording() -> None:
    """Each node stands at its own time on the row of its thread, inside its run's slice."""
    found = events(timed())

    assert slices(found) == [
        ("backward 1", 1.0, 9.5, 0),
        ("backward 1", 8.0, 7.0, 1),
        ("Op0", 1.0, 5.0, 0),
        ("Op1", 8.0, 7.0, 1),
        ("Op2", 8.5, 2.0, 0),
    ]
    assert {event["args"]["name"] for event in found if event["ph"] == "M"} == {"train.py", "thread 0", "thread 1"}
    assert found[-2]["args"]["grad_norm"] == "nan"


def test_runs_follow_each_other() -> None:
    """Slices of one row never overlap unless one holds the other, also over several runs."""
    without_starts = chain(500)
    without_starts.measures = {"time_us": [float(node % 7) for node in range(500)]}
    found = slices(events(timed(), without_starts, timed(), step="all"))

    for thread in (0, 1):
        row = sorted((start, -duration) for _, start, duration, where in found if where == thread)
        open_until: list[float] = []
        for start, minus in row:
            while open_until and open_until[-1] <= start + 1e-6:
                open_until.pop()
            assert not open_until or start - minus <= open_until[-1] + 1e-6
            open_until.append(start - minus)
    runs = [(start, duration) for name, start, duration, where in found if name.startswith("backward") and not where]
    assert all(before[0] + before[1] < after[0] for before, after in pairwise(sorted(runs)))


def test_without_times_it_says_which_level_has_them() -> None:
    """A recording of structure alone cannot be drawn along a time axis."""
    with pytest.raises(NoGraphError, match="--level backward"):
        events(chain(3))


def test_hostile_names() -> None:
    """Every name is one line of text without control characters."""
    made = hostile()
    made.measures = {"time_us": [1.0] * len(made), "</script>\n": [float("inf")] * len(made)}
    for event in events(made):
        words = [event["name"], *(value for value in event["args"].values() if isinstance(value, str))]
        assert all(word == "".join(word.split("\n")) and "\x1b" not in word for word in words)
