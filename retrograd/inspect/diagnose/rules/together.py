"""What several recordings tell together: ranks of one job, or two runs of one program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...lineup.changed_alone import ChangedAlone
from ...lineup.divergence import Difference
from ...lineup.gradients import NormGap, Partial
from ...lineup.lineup import Lineup
from ...lineup.replicas import Apart, OtherTurn, copies_at_first
from ...lineup.results import OtherResult
from ...lineup.run import Place
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.words import at, listed

KINDS = {
    "unused-on-some-ranks": Kind("a parameter gets a gradient on some ranks only", "error", Stage.STRUCTURE),
    "reduction-order": Kind("ranks get their gradients ready in different orders", "warning", Stage.STRUCTURE),
    "unreduced-gradient": Kind("gradients differ between ranks after the all-reduce", "error", Stage.STATEMENT),
}


def find(_flow: Flow) -> Iterator[Case]:
    """Yield nothing: one recording alone cannot tell."""
    yield from ()


CHECK = Check("divergence", KINDS, find)


def cases_of(found: Lineup) -> Iterator[Case]:
    """Yield what recordings tell together."""
    if not found.ranks:
        if found.result is not None and len(found.runs) == 2:
            yield _nondeterminism(found.result)
        return
    yield from map(_weighed(found), _other_graphs(found))
    if found.turn is not None:
        yield _other_turn(found, found.turn)
    elif found.apart is not None:
        yield _apart(found.apart)
    if found.alone is not None:
        yield _changed_alone(found, found.alone)
    copied = copies_at_first(found.runs)
    for gap in found.norms:
        if gap.reduced and not gap.expected and copied.get(gap.name, True):
            yield _unreduced(found, gap)


def _other_graphs(found: Lineup) -> Iterator[Case]:
    """Yield a case for each way in which the graphs of ranks differ."""
    if found.divergence is not None:
        for one in found.divergence.differences:
            yield _difference(found, found.divergence.step, one)
    for part in found.partial:
        yield _partial(found, part)


def _weighed(found: Lineup) -> Callable[[Case], Case]:
    """Return what judges other graphs: of ranks that all ended well they made nobody wait, so they may be meant."""
    if found.missing or any(one.state != "finished" for one in found.endings):
        return lambda case: case
    return lambda case: replace(
        case, severity="note", message=f"{case.message.removesuffix('.')}; all ranks ended well, so it may be meant."
    )


def _nondeterminism(one: OtherResult) -> Case:
    """Two runs of one program are not the same."""
    name = f"{one.name} = {one.op}(...)" if one.name and one.what == "result" else f"{one.op}(...)"
    message = {
        "result": f"{name}{at(one.source)} is the first operation whose result differs between two equal runs",
        "gradient": f"the gradient of {one.name or 'a leaf'}{at(one.source)} is the first that differs between two "
        "equal runs; everything in forward was the same",
        "call": f"two equal runs part{at(one.source)}, after the same results up to there",
    }[one.what]
    return Case(
        kind="nondeterminism",
        message=f"{message}: {one.before} in the first, {one.after} in the second.",
        remedy="seed what draws random numbers there, and let nothing depend on time, on the order of a set or of "
        "threads; torch.use_deterministic_algorithms(True) names operations that are not deterministic",
        source=one.source,
        op=one.op,
    )


def _difference(found: Lineup, step: int, one: Difference) -> Case:
    """Ranks did not do the same."""
    ranks = listed(found.names[number] for number in one.runs)
    order = one.what.startswith("order")
    place = one.there or one.here
    rest = listed(found.names[number] for number in found.divergence.groups[0]) if found.divergence else "the rest"
    usual = f" (the others are{at(one.here.source)})" if _elsewhere(one.here, one.there) and one.here else ""
    return Case(
        kind="reduction-order" if order else "rank-divergence",
        message=f"{ranks} {'have' if len(one.runs) > 1 else 'has'} other {one.what} than {rest} in "
        f"backward run {step}{at(place.source) if place else ''}{usual}: {one.detail}.",
        remedy="run the same operations in the same order on every rank"
        if order
        else "let every rank take the same "
        "branches and the same number of steps; decide by a value that all ranks share (all-reduce it first)",
        source=place.source if place else None,
        op=place.op if place else "",
        evidence={"step": step, "ranks": [found.names[number] for number in one.runs]},
    )


def _elsewhere(here: Place | None, there: Place | None) -> bool:
    return here is not None and there is not None and here.source != there.source


def _partial(found: Lineup, one: Partial) -> Case:
    """A parameter takes part on some ranks only."""
    run = found.runs[one.without[0]].steps[one.step]
    having, lacking = (listed(found.names[number] for number in numbers) for numbers in (one.runs, one.without))
    return Case(
        kind="unused-on-some-ranks",
        message=f"{one.name} gets a gradient on {having} and none on {lacking} in backward run {one.step}"
        f"{at(run.event.source)}: ranks that add up gradients wait for each other, or add what is not alike.",
        remedy=f"loss = loss + 0.0 * {one.name}.sum() where it is not used, or find_unused_parameters=True "
        "(rg.distributed: unused='zero')",
        source=run.event.source,
        op="backward",
        evidence={"step": one.step, "name": one.name, "ranks": list(one.runs), "without": list(one.without)},
    )


_WHY_APART = {
    "start": "differ between ranks before the first step, and so they do at the end: gradients are added up, but each "
    "rank adds them to weights that are not the same",
    "past wrapper": "part on the ranks, for no gradient was reduced: {wrapper} itself is never called, only the module "
    "inside it",
    "no_sync": "part on the ranks, for gradients were not reduced: no_sync() is in force where the last backward "
    "before the step runs",
    "not reduced": "part on the ranks: each takes the steps of its own data, and no gradient was ever reduced",
}
_TOGETHER_AGAIN = {
    "start": "give all ranks the same initial weights: broadcast them from rank 0 (DistributedDataParallel does), or "
    "seed alike before the module is made",
    "past wrapper": "call the {wrapper}, not its .module, in the forward pass of a training step",
    "no_sync": "leave no_sync() for the last backward before each step, which reduces what has added up",
    "not reduced": "wrap the module in DistributedDataParallel, or all_reduce the gradients before the step",
}


def _apart(one: Apart) -> Case:
    """Copies of parameters that do not stay alike."""
    when = "" if one.why == "start" else f" from step {one.step}{at(one.at)} on"
    return Case(
        kind="unreduced-gradient",
        severity="warning" if one.why == "not reduced" else None,
        message=f"the parameters {listed(one.names)} {_WHY_APART[one.why].format(wrapper=one.wrapper)}{when}.",
        remedy=_TOGETHER_AGAIN[one.why].format(wrapper=one.wrapper),
        source=one.source,
        op="backward",
        evidence=one.to_plain(),
    )


def _changed_alone(found: Lineup, one: ChangedAlone) -> Case:
    """Gradients that no longer are the same on all ranks."""
    ranks = listed(found.names[number] for number in one.runs)
    return Case(
        kind="unreduced-gradient",
        message=f"{one.op}{at(one.source)} changes the gradients of {listed(one.names)} on {ranks} alone, after all "
        f"ranks added them up{at(one.reduced)}: the copies of these parameters part, for each rank steps by another "
        "gradient.",
        remedy="let every rank do it: a condition on the rank may be around what prints and saves, not around what "
        "changes gradients",
        source=one.source,
        op=one.op,
        evidence=one.to_plain(),
    )


def _other_turn(found: Lineup, one: OtherTurn) -> Case:
    """Gradients of different parameters that are added up."""
    meets = listed(f"that of {name} on {run.name}" for name, run in zip(one.names, found.runs, strict=True))
    return Case(
        kind="rank-divergence",
        message=f"ranks reduce their gradients in different orders{at(one.source)}: there {meets} meet and are added "
        "up, although they are not of one parameter.",
        remedy="go through the parameters in the same order on every rank, as named_parameters() gives them; an order "
        "by hash or from a set is another one in each process",
        source=one.source,
        op="all_reduce",
        evidence={"names": list(one.names)},
    )


def _unreduced(found: Lineup, gap: NormGap) -> Case:
    """A gradient is not the same on all ranks although others have become equal."""
    event = found.runs[0].steps[gap.step].event
    norms = listed(f"{norm:.6g}" for norm in gap.norms if norm is not None)
    return Case(
        kind="unreduced-gradient",
        message=f"after the all-reduce of backward run {gap.step}{at(event.source)} the gradient of {gap.name} differs "
        f"between ranks, whose norms are {norms}, while others have become equal: ranks drift apart.",
        remedy=f"give {gap.name} to the reduction as well, and change no gradient on one rank after it",
        source=event.source,
        op="backward",
        evidence={"step": gap.step, "name": gap.name, "norms": list(gap.norms)},
    )
