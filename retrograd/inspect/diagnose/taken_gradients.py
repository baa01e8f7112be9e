"""Where a program takes what ``backward()`` left in ``.grad`` of a leaf into its computations."""

from __future__ import annotations

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
    for row, event in enumerate(flow.events):
        if event.kind not in ("operation", "cut"):
            continue
        for given, text in zip(event.data.get("inputs", ()), event.data.get("names", ()), strict=False):
            if not text.endswith(".grad") or flow.made_in.get(given):
                continue
            made = next((run for run in reversed(flow.runs) if run.end < row and run.accumulates), None)
            leaf = None if made is None else _called(flow, text.removesuffix(".grad"), made)
            if made is not None and leaf is not None and leaf not in event.data["inputs"]:
                yield TakenGradient(leaf, given, row, made)


def _called(flow: Flow, name: str, run: Run) -> int | None:
    """Return the one leaf of a name that got a gradient in a run."""
    found = [leaf for leaf in flow.arrivals_in(run) if name in flow.spelling.names(leaf)]
    return found[0] if len(found) == 1 else None
