"""Chrome traces: what stands where on the time axis, on which row, and that every name is harmless."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_samples import chain, graph, hostile, recording

from retrograd.errors import NoGraphError
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.render import RenderOptions, renderer_for

TRACE = renderer_for("x.trace.json")


def events(*snapshots: Graph, step: str = "last") -> list[dict[str, Any]]:
    """Render, parse as strict JSON, and check what the trace event format asks of every event."""
    text = TRACE.render(recording(*snapshots), RenderOptions(step=step))
    return read_trace(str(text))


def read_trace(text: str) -> list[dict[str, Any]]:
    """Read a trace as strictly as the format's description and its readers do: fields, types, names, and nesting.

    Perfetto turns times into whole nanoseconds and drops a slice that begins within another of its thread and ends
    after it.
    """
    whole = json.loads(text, parse_constant=pytest.fail)
    assert whole.keys() == {"traceEvents", "displayTimeUnit"}
    assert whole["displayTimeUnit"] in ("ms", "ns")
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    named: set[tuple[str, int, int]] = set()
    for event in whole["traceEvents"]:
        assert {type(event[key]) for key in ("pid", "tid")} == {int}
        assert all(type(event[key]) is str and event[key] for key in ("ph", "name"))
        assert type(event["args"]) is dict
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert type(event["args"]["name"]) is str
            assert event.keys() == {"ph", "name", "pid", "tid", "args"}
            what = (event["name"], event["pid"], event["tid"])
            assert what not in named
            named.add(what)
            continue
        assert event["ph"] == "X"
        assert event.keys() == {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"}
        assert {type(event[key]) for key in ("ts", "dur")} <= {int, float}
        assert ("thread_name", event["pid"], event["tid"]) in named
        assert ("process_name", event["pid"], 0) in named
        assert type(event["cat"]) is str
        begin, length = (round(1000 * event[key]) for key in ("ts", "dur"))
        assert min(begin, length) >= 0
        rows.setdefault((event["pid"], event["tid"]), []).append((begin, -begin - length))
    for row in rows.values():
        # Readers that do not sort take slices as they come: in order of time, the outer of two before the inner.
        assert row == sorted(row)
        ends: list[int] = []
        for begin, minus_end in row:
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or -minus_end <= ends[-1]
            ends.append(-minus_end)
    found: list[dict[str, Any]] = whole["traceEvents"]
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=30), st.booleans())
def test_slices_never_overlap_by_rounding(durations: list[float], started: bool) -> None:
    """Nodes that follow each other without a pause stay apart on the nanosecond, whatever their times."""
    made = chain(len(durations))
    made.measures = {"time_us": list(durations)}
    if started:
        made.measures["started_us"] = [sum(durations[:number]) for number in range(len(durations))]

    assert len(slices(events(made))) == len(durations) + 1


def slices(found: list[dict[str, Any]]) -> list[tuple[str, float, float, int]]:
    """Name, beginning, duration and thread of each slice."""
    return [(event["name"], event["ts"], event["dur"], event["tid"]) for event in found if event["ph"] == "X"]


def timed() -> Graph:
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


def test_runs_of_several_threads_stand_side_by_side() -> None:
    """Runs stand where they began, each thread on a row of its own; two of one thread follow each other."""
    made, said = [], []
    for number, (thread, began) in enumerate([(0, 5.0), (71, 5.001), (72, 5.0005), (0, 5.01)]):
        one = chain(2)
        one.measures = {"time_us": [400.0, 1000.0], "started_us": [0.0, 400.0], "thread": [0.0, 0.0]}
        one.label = f"backward {number}"
        made.append(one)
        said.append(Event("backward", data={"run": number, "snapshot": number, "thread": thread}))
        said.append(Event("backward-end", data={"run": number, "began": began}))
    text = TRACE.render(Recording(graphs=made, events=said), RenderOptions(step="all"))
    found = slices(read_trace(str(text)))

    whole = {name: (start, row) for name, start, _, row in found if name.startswith("backward")}
    assert {name: start for name, (start, _) in whole.items()} == pytest.approx(
        {"backward 0": 0.0, "backward 1": 1000.0, "backward 2": 500.0, "backward 3": 10000.0}
    )
    rows = [whole[f"backward {number}"][1] for number in range(4)]
    assert rows[0] == rows[3]
    assert len(set(rows)) == 3
