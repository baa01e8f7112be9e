"""Times of backward as a Chrome trace for Perfetto, speedscope and chrome://tracing: one row per thread.

Every backward pass is a slice on each thread that took part, containing the nodes that ran in it, at its start time, so
that passes of several threads appear side by side. A process represents a recording (a rank, if there are several).
Times are in microseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ....errors import NoGraphError
from ...graphs.columns import nonfinite_word
from ...graphs.graph import Graph
from ...recording.event_data import LEVELS
from ...recording.events import Recording
from ..base import RenderOptions, chosen_steps
from ..labels import clean, headline, short_op, source_text

BETWEEN = 10.0
"""Microseconds drawn between two backward passes."""
_ON_THE_AXIS = ("time_us", "started_us", "thread", "order")


class ChromeTraceRenderer:
    """Writes the selected backward passes as one Chrome trace."""

    name = "chrome-trace"
    suffixes = (".trace.json",)
    binary = False

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``NoGraphError`` for a level at which no times are recorded."""
        if level == LEVELS[0]:
            raise _no_times()

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the trace; raises ``NoGraphError`` when no node of the chosen runs has a time."""
        runs = runs_of(recording, chosen_steps(recording, options))
        return trace_json([(options.title or recording.script or "backward", runs)])


RENDERER = ChromeTraceRenderer()


class Slice(NamedTuple):
    """One node that ran: when it began after the beginning of its run, for how long, on which thread."""

    node: int
    start: float
    duration: float
    thread: int


def _no_times() -> NoGraphError:
    """Return the error for a recording without times."""
    return NoGraphError(
        "No node has a time, so there is nothing to draw along a time axis.",
        "Record the run with: retrograd trace SCRIPT --level backward -o run.json",
    )


class Ran(NamedTuple):
    """One backward pass: its graph, the thread that called it, when it began (in seconds, None where not known)."""

    snapshot: Graph
    thread: int = 0
    began: float | None = None


def runs_of(recording: Recording, numbers: Iterable[int]) -> list[Ran]:
    """Return the runs of some graphs of a recording, with what events say of them."""
    began: dict[int, dict[str, Any]] = {}
    ended: dict[int, dict[str, Any]] = {}
    for event in recording.events:
        if event.kind == "backward" and event.data.get("snapshot") is not None:
            began[event.data["snapshot"]] = event.data
        elif event.kind == "backward-end":
            ended[event.data.get("run", -1)] = event.data
    found = []
    for number in numbers:
        called = began.get(number, {})
        over = ended.get(called.get("run", -1), {})
        found.append(Ran(recording.graphs[number], called.get("thread", 0), over.get("began")))
    return found


def trace_json(processes: list[tuple[str, list[Ran]]]) -> str:
    """Return a trace with one process for each named list of backward passes.

    Raises ``NoGraphError`` when no node of any of them has a time.
    """
    events: list[dict[str, Any]] = []
    for number, (name, runs) in enumerate(processes):
        events += _Process(number, runs).events(clean(name))
    if not any(event["ph"] == "X" for event in events):
        raise _no_times()
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, allow_nan=False) for event in events)
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n'


class _Process:
    """The passes of one recording on the time axis: at their start times if all are known, else one after another."""

    def __init__(self, number: int, runs: list[Ran]) -> None:
        self.number = number
        self.runs = [(run, slices) for run in runs if (slices := timeline(run.snapshot))]
        known = [run.began for run, _ in self.runs if run.began is not None]
        self.first = min(known) if len(known) == len(self.runs) and known else None
        self.ends: dict[int, float] = {}
        """When the thread of a run is free again."""
        self.rows: dict[tuple[int, int], int] = {}
        """Thread that called, thread of the engine that ran nodes -> row."""

    def events(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the events of the process."""
        yield _meta("process_name", self.number, 0, name)
        slices = [list(self._run(*run)) for run in sorted(self.runs, key=self._order)]
        for row in sorted(set(self.rows.values())):
            yield _meta("thread_name", self.number, row, f"thread {row}")
        yield from chain.from_iterable(slices)

    def _order(self, run: tuple[Ran, list[Slice]]) -> float:
        return 0.0 if self.first is None else run[0].began or 0.0

    def _run(self, run: Ran, slices: list[Slice]) -> Iterator[dict[str, Any]]:
        """Yield the events of one run."""
        thread = 0 if self.first is None else run.thread
        start = 0.0 if self.first is None else 1e6 * ((run.began or 0.0) - self.first)
        now = max(start, self.ends.get(thread, 0.0))
        self.ends[thread] = now + max(one.start + one.duration for one in slices) + BETWEEN
        placed = [one._replace(thread=self._row(run.thread, one.thread)) for one in slices]
        return _run(self.number, run.snapshot, placed, now)

    def _row(self, caller: int, worker: int) -> int:
        """Return the row of nodes that one of the engine's threads ran for the thread that called."""
        if (caller, worker) not in self.rows:
            taken = set(self.rows.values())
            self.rows[caller, worker] = worker if worker not in taken else max(taken) + 1
        return self.rows[caller, worker]


def timeline(snapshot: Graph) -> list[Slice]:
    """Return the nodes that have a time, in order of their beginnings.

    Where only durations are known, the nodes follow each other in the order in which they ran (or were walked).
    """
    times = snapshot.measures.get("time_us", [])
    ran = [node for node, time in enumerate(times) if _usable(time)]
    starts = snapshot.measures.get("started_us", [None] * len(snapshot))
    threads = snapshot.measures.get("thread", [None] * len(snapshot))
    if not all(_usable(starts[node]) for node in ran):
        starts = _end_to_end(snapshot, ran)
    slices = [Slice(node, starts[node] or 0.0, times[node] or 0.0, int(threads[node] or 0)) for node in ran]
    return sorted(slices, key=lambda one: (one.start, -one.duration, one.node))


def _usable(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value >= 0


def _end_to_end(snapshot: Graph, ran: list[int]) -> list[float | None]:
    """Return a beginning for each node that ran, each right after the one before."""
    order = snapshot.measures.get("order", [None] * len(snapshot))
    times = snapshot.measures["time_us"]
    starts: list[float | None] = [None] * len(snapshot)
    now = 0.0
    for node in sorted(ran, key=lambda node: (order[node] is None, order[node] or 0.0, node)):
        starts[node] = now
        now += times[node] or 0.0
    return starts


def _run(process: int, snapshot: Graph, slices: list[Slice], now: float) -> Iterator[dict[str, Any]]:
    """Yield the events of one backward pass that begins at ``now``."""
    for thread in sorted({one.thread for one in slices}):
        mine = [one for one in slices if one.thread == thread]
        start = min(one.start for one in mine)
        whole = Slice(-1, start, max(one.start + one.duration for one in mine) - start, thread)
        yield _slice(process, whole, now, clean(snapshot.label) or "backward", {"graph": headline(snapshot)})
    nodes = [
        _slice(process, one, now, short_op(clean(snapshot.op[one.node])), _facts(snapshot, one.node)) for one in slices
    ]
    yield from sorted(nodes, key=lambda event: (event["ts"], -event["dur"]))  # rounding may have made ties


def _slice(process: int, one: Slice, now: float, name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return a complete event, both ends on whole nanoseconds: readers drop slices that overlap by less than one."""
    begin, end = round(now + one.start, 3), round(now + one.start + one.duration, 3)
    place = {"pid": process, "tid": one.thread, "ts": begin, "dur": round(end - begin, 3)}
    return {"ph": "X", "cat": "backward", "name": name or "?", **place, "args": facts}


def _facts(snapshot: Graph, node: int) -> dict[str, Any]:
    """Return what a click on a slice shows."""
    shape = snapshot.shape[node]
    facts: dict[str, Any] = {
        "node": f"n{node}",
        "operator": clean(snapshot.op[node]),
        "name": clean(snapshot.name[node] or ""),
        "scope": clean(snapshot.scope[node]),
        "shape": "" if shape is None else str(list(shape)),
        "dtype": clean(snapshot.dtype[node] or ""),
        "source": source_text(snapshot.source[node]),
        "saved_bytes": snapshot.saved_bytes[node],
    }
    measures = {name: column[node] for name, column in snapshot.measures.items() if name not in _ON_THE_AXIS}
    facts.update({clean(name): _plain(value) for name, value in measures.items()})
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _plain(value: float | None) -> float | str | None:
    """Return a measure as JSON takes it: words for NaN and infinities."""
    return value if value is None or math.isfinite(value) else nonfinite_word(value)


def _meta(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    """Return the event that names a process or thread."""
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name or "?"}}
