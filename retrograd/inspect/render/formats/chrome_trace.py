"""Times of backward as a Chrome trace, which Perfetto, speedscope and chrome://tracing open: one row per thread.

Every backward run is a slice on each thread that took part, with the nodes that ran inside it; several runs follow
each other.  A process stands for a recording (for a rank, where there are several).  Times are in microseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ....errors import NoGraphError
from ...columns import nonfinite_word
from ...event_data import LEVELS
from ...events import Recording
from ...snapshot import GraphSnapshot
from ..base import RenderOptions, chosen_snapshots
from ..labels import clean, headline, short_op, source_text

BETWEEN = 10.0
"""Microseconds drawn between two backward runs."""
_ON_THE_AXIS = ("time_us", "started_us", "thread", "order")


class ChromeTraceRenderer:
    """Writes the backward runs that were asked for as one Chrome trace."""

    name = "chrome-trace"
    suffixes = (".trace.json",)
    binary = False

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``NoGraphError`` for a level at which no times are recorded."""
        if level == LEVELS[0]:
            raise _no_times()

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return the trace; raises ``NoGraphError`` when no node of the chosen runs has a time."""
        snapshots = chosen_snapshots(recording, options)
        return trace_json([(options.title or recording.script or "backward", snapshots)])


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


def trace_json(processes: list[tuple[str, list[GraphSnapshot]]]) -> str:
    """Return a trace with one process for each named list of backward runs.

    Raises ``NoGraphError`` when no node of any of them has a time.
    """
    events: list[dict[str, Any]] = []
    for number, (name, snapshots) in enumerate(processes):
        events += _process(number, clean(name), snapshots)
    if not any(event["ph"] == "X" for event in events):
        raise _no_times()
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, allow_nan=False) for event in events)
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n'


def _process(number: int, name: str, snapshots: list[GraphSnapshot]) -> Iterator[dict[str, Any]]:
    """Yield the events of one process."""
    yield _meta("process_name", number, 0, name)
    now = 0.0
    threads: set[int] = set()
    for snapshot in snapshots:
        slices = timeline(snapshot)
        if not slices:
            continue
        for thread in sorted({one.thread for one in slices} - threads):
            yield _meta("thread_name", number, thread, f"thread {thread}")
        threads |= {one.thread for one in slices}
        yield from _run(number, snapshot, slices, now)
        now += max(one.start + one.duration for one in slices) + BETWEEN


def timeline(snapshot: GraphSnapshot) -> list[Slice]:
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


def _end_to_end(snapshot: GraphSnapshot, ran: list[int]) -> list[float | None]:
    """Return a beginning for each node that ran, each right after the one before."""
    order = snapshot.measures.get("order", [None] * len(snapshot))
    times = snapshot.measures["time_us"]
    starts: list[float | None] = [None] * len(snapshot)
    now = 0.0
    for node in sorted(ran, key=lambda node: (order[node] is None, order[node] or 0.0, node)):
        starts[node] = now
        now += times[node] or 0.0
    return starts


def _run(process: int, snapshot: GraphSnapshot, slices: list[Slice], now: float) -> Iterator[dict[str, Any]]:
    """Yield the events of one backward run that begins at ``now``."""
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


def _facts(snapshot: GraphSnapshot, node: int) -> dict[str, Any]:
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
