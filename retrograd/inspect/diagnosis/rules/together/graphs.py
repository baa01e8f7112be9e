"""Graphs of ranks that differ where ranks wait for each other: other parameters, another branch."""

from __future__ import annotations

from collections.abc import Iterator

from ....graphs.align import plain_name
from ....lineup.divergence import Difference
from ....lineup.gradients import Partial
from ....lineup.lineup import Lineup
from ....lineup.replica import Replica
from ....lineup.run import Run
from ....program.places import SourceLine
from ...base import Case
from ...text.words import at, in_code, listed


def other_graphs(found: Lineup) -> Iterator[Case]:
    """Yield a case for each difference between the graphs of ranks, unless all of these ended well.

    Each rank works on data of its own, so that graphs may differ; only where one waits for another it matters.
    """
    if found.ended_well:
        return
    known = set().union(*map(_known_unused, found.replicas)) if found.partial else set()
    parts = [part for part in found.partial if part.name not in known]
    if parts:
        yield from (_partial(found, together) for together in _by_ranks(parts))
    elif found.divergence is not None and found.divergence.step == max(len(run.steps) for run in found.runs) - 1:
        for one in found.divergence.differences:
            if one.what != "shapes":
                yield _difference(found, found.divergence.step, one)


def _known_unused(replica: Replica) -> set[str | None]:
    """Return the parameters of a rank whose wrapper was configured for ranks that do not use all of them."""
    tensors = replica.run.recording.tensors
    return {
        plain_name(tensors[one].name)
        for event in replica.events
        if event.kind == "wrapper" and (event.data.get("find_unused_parameters") or event.data.get("static_graph"))
        for one in event.data["inputs"]
    }


def _by_ranks(parts: list[Partial]) -> list[list[Partial]]:
    """Return the parameters grouped by the ranks that have a gradient for them and the first such step."""
    found: dict[tuple[int, tuple[int, ...]], list[Partial]] = {}
    for part in parts:
        found.setdefault((part.step, part.runs), []).append(part)
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _partial(found: Lineup, parts: list[Partial]) -> Case:
    """Return the case of parameters that take part on some ranks only."""
    one = parts[0]
    run = found.runs[one.without[0]].steps[one.step]
    having, lacking = (listed(found.words(numbers)) for numbers in (one.runs, one.without))
    used = _used_at(found.runs[one.runs[0]], one)
    names = [part.name for part in parts]
    where = f": only {having} went through{at(used)}," if used else ":"
    verbs = ("gets", "") if len(names) == 1 else ("get", "s")
    return Case(
        kind="unused-on-some-ranks",
        message=f"{listed(names)} {verbs[0]} a gradient on {having} and none on {lacking} in backward pass {one.step}"
        f"{at(run.event.source)}{where} and ranks that reduce gradients wait for each other, or sum those of "
        "different parameters.",
        remedy="find_unused_parameters=True (rg.distributed: unused='zero'), or loss = loss + 0.0 * "
        f"{in_code(one.name)}.sum() where it is not used",
        source=used or run.event.source,
        op="backward",
        evidence={"step": one.step, "name": one.name, "ranks": list(one.runs), "without": list(one.without)},
    )


def _used_at(run: Run, part: Partial) -> SourceLine | None:
    """Return the line of the last call before a step that uses a parameter."""
    numbers = {row for row, facts in enumerate(run.recording.tensors) if plain_name(facts.name) == part.name}
    found = None
    for event in run.recording.events:
        if event is run.steps[part.step].event:
            break
        if event.kind == "operation" and not numbers.isdisjoint(event.data.get("inputs", ())):
            found = event.source
    return found


def _difference(found: Lineup, step: int, one: Difference) -> Case:
    """Return the case of ranks that did not do the same."""
    ranks = listed(found.words(one.runs))
    order = one.what.startswith("order")
    place = one.there or one.here
    rest = listed(found.words(found.divergence.groups[0])) if found.divergence else "the rest"
    elsewhere = one.here is not None and one.there is not None and one.here.source != one.there.source
    usual = f" (the others are{at(one.here.source)})" if elsewhere and one.here else ""
    return Case(
        kind="reduction-order" if order else "rank-divergence",
        message=f"{ranks} {'have' if len(one.runs) > 1 else 'has'} other {one.what} than {rest} in "
        f"backward pass {step}{at(place.source) if place else ''}{usual}: {one.detail}.",
        remedy="run the same operations in the same order on every rank"
        if order
        else "let every rank take the same "
        "branches and the same number of steps; decide by a value that all ranks share (all-reduce it first)",
        source=place.source if place else None,
        op=place.op if place else "",
        evidence={"step": step, "ranks": [found.names[number] for number in one.runs]},
    )
