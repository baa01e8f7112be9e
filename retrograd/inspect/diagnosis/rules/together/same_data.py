"""Ranks that all work on the same data: each repeats the others' work, and averaging changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ....lineup.drift_causes import is_kept_equal
from ....lineup.gradients import node_norms
from ....lineup.lineup import Lineup
from ....lineup.replica import Replica, sums
from ....operators import Trait, is_a
from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case
from ...text.words import at
from ...thresholds import HABIT


def same_data(found: Lineup) -> Iterator[Case]:
    """Yield the case of replicas whose gradients are equal on all ranks in every step before they are averaged."""
    steps = min(len(run.steps) for run in found.runs)
    if not found.ended_well or len(found.runs) < 2 or steps < HABIT or any(map(_hands_out, found.replicas)):
        return
    for step in range(steps):
        first, *rest = (node_norms(run.steps[step]) for run in found.runs)
        kept = all(is_kept_equal(found.replicas, name) for name in first)
        if not kept or not any(first.values()) or any(one != first for one in rest):
            return
    line = _where_data_come_from(found.replicas[0])
    yield Case(
        kind="same-data",
        message=f"in each of {steps} steps all {len(found.runs)} ranks have the same gradients before they are "
        f"averaged: they work on the same data{at(line)}, so that the job learns what one rank alone would.",
        remedy="give each rank a part of its own: DistributedSampler(dataset) in its DataLoader, or another seed on "
        "each rank for what draws data; only weights begin with one seed",
        source=line or found.runs[0].steps[0].event.source,
        op="backward",
        evidence={"steps": steps},
    )


def _hands_out(replica: Replica) -> bool:
    """Whether a rank gets anything from others in its steps but sums: then they may split one batch among them."""
    begun = (row for row, event in enumerate(replica.events) if event.kind == "backward")
    later = replica.of_kind(range(next(begun, len(replica.events)), len(replica.events)), "collective")
    return any(event.data.get("inputs") and not sums(event) for _, event in later) or any(
        sums(event) and any(event.data.get("requires_grad", ())) for _, event in later
    )


def _where_data_come_from(replica: Replica) -> SourceLine | None:
    """Return the line of the second step that draws data, or is the first to use what was there before it."""
    tensors = replica.run.recording.tensors
    first, second, *_ = (row for row, event in enumerate(replica.events) if event.kind == "backward")
    for _, event in replica.of_kind(range(first, second), "operation"):
        inputs = [tensors[one] for one in event.data.get("inputs", ())]
        drawn = is_a(event.op, Trait.RANDOM) and is_a(event.op, Trait.CREATION)
        given = any((one.made_by or 0) < first and one.leaf and not one.requires_grad for one in inputs)
        if (drawn or given) and event.source is not None:
            return _beside(replica.events[first].source, event)
    return None


def _beside(line: SourceLine | None, event: Event) -> SourceLine | None:
    """Return the line of an event in the function that contains a line; its own if it was not called there."""
    frames = (SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ()))
    here = (one for one in frames if line is not None and (one.file, one.function) == (line.file, line.function))
    return next(here, event.source)
