"""How each run ended; for one that hangs, the last finished node and the next one."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass

from ..graphs.columns import Plain
from ..graphs.graph import Graph
from ..program.places import full_place, inside_words
from ..recording.events import Event
from .run import Place, Run

_LOST = re.compile(
    r"gloo/|NCCL|[Cc]onnection (?:closed|reset|refused|was)|[Tt]imed out|[Bb]roken pipe|DistNetworkError"
)
"""Messages of errors that are raised when another process is gone."""


def is_lost(error: Event | None) -> bool:
    """Whether an error says only that another process is gone or does not answer."""
    return error is not None and bool(_LOST.search(f"{error.data.get('type')}: {error.data.get('message')}"))


@dataclass(frozen=True, slots=True)
class Ending:
    """The last known state of one run."""

    run: int
    steps: int
    """Backward passes that it began."""
    state: str
    """``"finished"``, ``"error"``, ``"waiting"`` (in a collective), ``"in backward"`` (it never ended) or ``"cut off"``
    (killed in between)."""
    last: Place | None = None
    """The last node that finished, or the line of the error."""
    next: Place | None = None
    """The node that would have run next."""
    message: str = ""

    def to_plain(self) -> dict[str, Plain]:
        """Return the ending as JSON values."""
        last, following = (place and place.to_plain() for place in (self.last, self.next))
        plain = {"run": self.run, "steps": self.steps, "state": self.state, "message": self.message}
        return {**plain, "last": last, "next": following}


def endings(runs: list[Run]) -> list[Ending]:
    """Return how each run ended."""
    return [_ending(number, run) for number, run in enumerate(runs)]


def _ending(number: int, run: Run) -> Ending:
    count = len(run.steps)
    call = next((event for event in reversed(run.recording.events) if event.data.get("pending")), None)
    if call is not None:
        return Ending(
            number, count, "waiting", Place(count - 1, None, call.op, "", call.source), None, f"for others{_at(run)}"
        )
    if run.steps and not run.steps[-1].ended:
        return _in_backward(number, run)
    if run.error is not None:
        data = run.error.data
        message = f"{data.get('type', 'an error')}: {data.get('message', '')}"
        return Ending(number, count, "error", Place(count - 1, None, "", "", run.error.source), None, message)
    if not run.recording.complete:
        return Ending(number, count, "cut off", _last_place(run), None, "the file was written while it ran")
    return Ending(number, count, "finished", _last_place(run))


def _last_place(run: Run) -> Place | None:
    """Return the last known line of a run that ended well."""
    if not run.steps:
        return None
    step = len(run.steps) - 1
    return Place(step, None, "backward", "", run.steps[step].event.source)


def _in_backward(number: int, run: Run) -> Ending:
    """Describe a run whose last backward pass never ended."""
    step = len(run.steps) - 1
    snapshot, source = run.steps[step].snapshot, run.steps[step].event.source
    began = Place(step, None, "backward", "", source)
    order = [] if snapshot is None else snapshot.measures.get("order", [])
    begun = {node for node, place in enumerate(order) if place is not None}
    if snapshot is None or not order:
        return Ending(number, step + 1, "in backward", began, None, f"which nodes ran was not recorded{_at(run)}")
    working = _at_work(snapshot, begun)
    done = begun - {working}
    last = max(done, key=lambda node: order[node] or 0.0, default=None)
    following = next_node(snapshot, done) if working is None else working
    return Ending(
        number,
        step + 1,
        "in backward",
        began if last is None else run.place(step, last),
        None if following is None else run.place(step, following),
        f"{len(done):,} of {len(snapshot):,} nodes ran{_at(run)}",
    )


def _at_work(snapshot: Graph, begun: set[int]) -> int | None:
    """Return the node that was running: it began, has no time yet, and others are still to run."""
    order, times = snapshot.measures["order"], snapshot.measures.get("time_us")
    if times is None or len(begun) == len(snapshot):
        return None
    return max((node for node in begun if times[node] is None), key=lambda node: order[node] or 0.0, default=None)


def _at(run: Run) -> str:
    """Return what is known about the signal or error that ended a run."""
    if run.error is None:
        return ""
    line = run.error.source
    where = "" if line is None else f" at {full_place(line.file, line.line)}{inside_words(line.inside)}"
    return f"; {run.error.data.get('type', 'an error')}{where}"


def next_node(snapshot: Graph, done: set[int]) -> int | None:
    """Return the node that the engine runs next: among those whose users all ran, a leaf, else the newest."""
    waiting = [0] * len(snapshot)
    for source, target, _, _ in snapshot.edges():
        waiting[target] += source not in done
    ready = [
        (snapshot.kind[node] != "leaf", -(snapshot.seq[node] or 0), node)
        for node in range(len(snapshot))
        if node not in done and not waiting[node]
    ]
    return heapq.nsmallest(1, ready)[0][2] if ready else None
