"""Where a program takes what ``backward()`` left in ``.grad`` of a leaf into its computations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from .flow import Flow
from .runs import Run


@dataclass(frozen=True, slots=True)
class TakenGradient:
    """One operand of a call, spelled ``leaf.grad``."""

    leaf: int
    gradient: int
    row: int
    """The call that takes it."""
    made: Run
    """The last run in which a gradient arrived."""


def taken_gradients(flow: Flow) -> Iterator[TakenGradient]:
    """Yield each gradient that a call takes by that name, in order of the calls; not what updates its own leaf."""
    accumulating = sorted((run for run in flow.runs if run.accumulates), key=lambda run: run.end)
    ends = [run.end for run in accumulating]
    called: dict[int, dict[str, list[int]]] = {}
    for row, event in enumerate(flow.events):
        if event.kind not in ("operation", "cut"):
            continue
        for given, text in zip(event.data.get("inputs", ()), event.data.get("names", ()), strict=False):
            if not text.endswith(".grad") or flow.made_in.get(given):
                continue
            ended = bisect_left(ends, row)
            if not ended:
                continue
            made = accumulating[ended - 1]
            if made.number not in called:
                called[made.number] = _called(flow, made)
            leaves = called[made.number].get(text.removesuffix(".grad"), [])
            if len(leaves) == 1 and leaves[0] not in event.data["inputs"]:
                yield TakenGradient(leaves[0], given, row, made)


def _called(flow: Flow, run: Run) -> dict[str, list[int]]:
    """Return name -> the leaves that go by it, of those that got a gradient in a run."""
    found: dict[str, list[int]] = {}
    for leaf in flow.arrival_rows(run):
        for name in flow.spelling.names(leaf):
            found.setdefault(name, []).append(leaf)
    return found
