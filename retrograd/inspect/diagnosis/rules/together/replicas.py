"""Replicas of parameters that diverge between ranks, and gradients that are not all-reduced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ....findings import Severity
from ....lineup.changed_alone import ChangedAlone
from ....lineup.collective_order import OtherOrder
from ....lineup.drift import DriftedReplicas, equal_at_first
from ....lineup.gradients import NormGap
from ....lineup.lineup import Lineup
from ....lineup.replica import Replica
from ....operators import Trait, is_a
from ....operators.collectives import Shares, shares
from ...base import Case
from ...text.words import at, listed, parameters


def drifting_replicas(found: Lineup) -> Iterator[Case]:
    """Yield a case for the cause that makes replicas of parameters diverge."""
    if found.order is not None:
        yield _other_order(found, found.order)
    elif found.alone is not None:
        yield _changed_alone(found, found.alone)
    elif found.drift is not None:
        yield _drift(found, found.drift)
    else:
        equal = equal_at_first(found.replicas)
        unknown = set[str]().union(*map(_still_reduced, found.replicas))
        gaps = [gap for gap in found.norms if gap.reduced and not gap.expected and equal.get(gap.name, True)]
        gaps = [gap for gap in gaps if gap.name not in unknown]
        if gaps:
            yield from _unreduced(found, gaps)


def _still_reduced(replica: Replica) -> set[str]:
    """Return the parameters whose gradients may still be on their way when a backward pass ends and norms are taken."""
    events = replica.events
    return {name for name, rows in replica.reduced.items() if any(events[row].data.get("asynchronous") for row in rows)}


class _Words(NamedTuple):
    """Messages: why replicas diverge, and the fix."""

    why: str
    fix: str


_UNREDUCED = "their gradients are not all-reduced"
_WORDS = {
    "start": _Words(
        "they differ before the first step, and all-reduced gradients keep the difference",
        "give all ranks the same initial weights: broadcast them from rank 0 (DistributedDataParallel does), or use "
        "one seed before the module is made",
    ),
    "past wrapper": _Words(
        f"{_UNREDUCED}, because the forward pass calls the module inside {{detail}}, not {{detail}} itself",
        "call the {detail}, not its .module, in the forward pass of a training step",
    ),
    "no_sync": _Words(
        f"{_UNREDUCED}, because the last backward pass before the step runs under no_sync()",
        "leave no_sync() for the last backward pass before each step: that one averages what was accumulated",
    ),
    "not reduced": _Words(
        "each rank steps by the gradients of its own data, and no gradient is ever all-reduced",
        "wrap the module in DistributedDataParallel, or all_reduce the gradients before the step",
    ),
    "trained apart": _Words(
        "each rank steps by the gradients of its own data, and nothing is exchanged before all steps are done",
        "wrap the module in DistributedDataParallel, or all_reduce the gradients before the step; it is right where "
        "each rank is to train a model of its own",
    ),
    "group of one": _Words(
        f"{_UNREDUCED}, because the process group of {{detail}} has one member on each rank",
        "leave process_group out, or give the group of all ranks that hold replicas",
    ),
    "thawed": _Words(
        f"{_UNREDUCED}, because they did not require grad when {{detail}} was made{{other}}: only then does it "
        "collect the parameters to reduce",
        "wrap the module again after requires_grad_(True), or let parameters require grad and give them lr=0",
    ),
    "made later": _Words(
        f"{_UNREDUCED}, because they were put into the module{{source}} after {{detail}} was made{{other}}: it knows "
        "the parameters of then",
        "change the module first, then wrap it in {detail}, then make the optimizer",
    ),
    "hooks lost": _Words(
        f"{_UNREDUCED} any more: a change of dtype{{source}} removed the hooks that {{detail}}, made{{other}}, had "
        "registered",
        "change the dtype before the module is wrapped in {detail}",
    ),
    "left out": _Words(
        "their gradients are not among those that are all-reduced{source}",
        "all_reduce the gradient of every parameter that all ranks train",
    ),
    "too late": _Words(
        "{detail}{source} reduces gradients that the step{other} has used already",
        "in this order: backward(), {detail} of all gradients, optimizer.step()",
    ),
    "too early": _Words(
        "after {detail}{source} each rank adds more to its gradients{other}",
        "in this order: all backward() calls of the step, then {detail} of all gradients, optimizer.step()",
    ),
    "not waited": _Words(
        "{detail}{source} is asynchronous, and the step{other} uses the gradients before it has ended",
        "keep what {detail} returns, and call wait() on each before optimizer.step(); or leave async_op=True out",
    ),
    "small group": _Words(
        "the group in which {detail} reduces gradients{source} does not have all ranks",
        "reduce in the group of all ranks that hold replicas of the parameters",
    ),
    "copy": _Words(
        "what is all-reduced{source} is a copy of the gradients, and the sum is never written back to .grad",
        "all_reduce(p.grad) itself, or p.grad.copy_(...) of the sum",
    ),
    "reduced to one": _Words(
        "{detail}{source} gives the sum of the gradients to one rank only",
        "dist.all_reduce in place of it, which gives the sum to all ranks",
    ),
    "losses only": _Words(
        "{detail}{source} sums a loss, which has no derivative, and no gradient is all-reduced: each rank steps by "
        "the gradients of its own data",
        "wrap the module in DistributedDataParallel, or all_reduce the gradients before the step, not the loss",
    ),
    "remembered": _Words(
        "gradients and settings are the same on all ranks, the state of their optimizers (momentum, moments) is not",
        "load or reset an optimizer's state on every rank",
    ),
    "settings": _Words(
        "the settings of their optimizers differ: {detail}",
        "give every rank the same settings: let schedules depend on values that were all-reduced first",
    ),
    "clipped": _Words(
        "their gradients are the same on all ranks until {detail}{source} scales them by the norm of what each rank "
        "holds, another factor on each",
        "take the norm over all ranks: all_reduce the sum of squares of the shards, then scale all by one factor",
    ),
    "changed": _Words(
        "their gradients are the same on all ranks until {detail}{source} changes them by numbers that differ "
        "between ranks",
        "draw the same numbers on every rank (a torch.Generator with one seed), or on one and broadcast them",
    ),
    "written alone": _Words(
        "{detail}{source} writes into them on {ranks} only",
        "do it on every rank, or broadcast the parameters after it",
    ),
    "written unlike": _Words(
        "{detail}{source} writes different values into them on each rank",
        "write the same on every rank: one seed, or broadcast the parameters from one rank after it",
    ),
}
"""By the cause that ``drift_causes`` finds; slots are filled from ``DriftedReplicas``."""
_SEVERITIES: dict[str, Severity] = {"not reduced": "warning", "group of one": "warning", "trained apart": "note"}
"""Severities where ranks may be meant to train independently."""


def _drift(found: Lineup, one: DriftedReplicas) -> Case:
    """Replicas of parameters that diverge."""
    when = "" if one.why == "start" else f" from step {one.step}{at(one.at)} on"
    ranks = listed(found.words(one.runs))
    slots = {"detail": one.detail, "source": at(one.source), "other": at(one.other), "ranks": ranks}
    return Case(
        kind="unreduced-gradient",
        severity=_SEVERITIES.get(one.why),
        message=f"replicas of {parameters(one.names)} diverge between ranks{when}: "
        f"{_WORDS[one.why].why.format(**slots)}.",
        remedy=_WORDS[one.why].fix.format(**slots),
        source=one.source,
        op="backward",
        evidence=one.to_plain(),
    )


def _changed_alone(found: Lineup, one: ChangedAlone) -> Case:
    """All-reduced gradients that some ranks change afterwards."""
    ranks = listed(found.words(one.runs))
    return Case(
        kind="unreduced-gradient",
        message=f"{one.op}{at(one.source)} changes the gradients of {parameters(one.names)} on {ranks} only, after "
        f"they were all-reduced{at(one.reduced)}: the replicas diverge, because ranks step by different gradients.",
        remedy="do it on every rank: a condition on the rank belongs around what prints and saves, not around what "
        "changes gradients",
        source=one.source,
        op=one.op,
        evidence=one.to_plain(),
    )


def _other_order(found: Lineup, one: OtherOrder) -> Case:
    """Gradients of different parameters that are summed."""
    reduced = listed(f"{run.name} reduces {name}" for name, run in zip(one.names, found.runs, strict=True))
    return Case(
        kind="rank-divergence",
        message=f"ranks reduce their gradients in different orders{at(one.source)}: there {reduced}, so that gradients "
        "of different parameters are summed.",
        remedy="reduce parameters in one order on every rank, that of named_parameters(); the order of a set or of "
        "hashes differs between processes",
        source=one.source,
        op="all_reduce",
        evidence={"names": list(one.names)},
    )


def _unreduced(found: Lineup, gaps: list[NormGap]) -> Iterator[Case]:
    """Yield the case of gradients that differ between ranks although others have become equal."""
    replica = found.replicas[0]
    apart = replica.left_alone | sharded_parameters(replica, {gap.name for gap in gaps} - replica.wrapped.keys())
    gaps = [gap for gap in gaps if gap.name not in apart]
    if not gaps:
        return
    gap, names = gaps[0], parameters(one.name for one in gaps)
    outside = bool(replica.wrapped) and not any(one.name in replica.wrapped for one in gaps)
    event = found.runs[0].steps[gap.step].event
    made = replica.run.recording.tensors[replica.numbers[gap.name]].source if gap.name in replica.numbers else None
    norms = listed(f"{norm:.6g}" for norm in gap.norms if norm is not None)
    own = outside and tables(replica, (one.name for one in gaps)) == {one.name for one in gaps}
    why = f" {names} {'is' if len(gaps) == 1 else 'are'} in no wrapper." if outside else ""
    yield Case(
        kind="unreduced-gradient",
        severity="note" if own else None,
        message=f"the gradient of {names} differs between ranks after the all-reduce of backward pass {gap.step}"
        f"{at(event.source)} (norms {norms}), while those of other parameters are equal: replicas diverge.{why}",
        remedy=f"wrap the module that has {gap.name} in DistributedDataParallel as well, or all_reduce its gradient"
        + (", unless each rank has rows of its own" if own else "")
        if outside
        else f"give {gap.name} to the reduction as well, and change no gradient on one rank after it",
        source=(made if outside else None) or event.source,
        op="backward",
        evidence={"step": gap.step, "names": [one.name for one in gaps], "norms": list(gap.norms)},
    )


# -- parameters that differ between ranks on purpose: parts of a model split over ranks
_EXCHANGING = frozenset({Shares.PARTS, Shares.SUM, Shares.PAIR})
"""Collectives that give ranks a part, or a sum, of what others computed; gathering also copies shared weights."""


def sharded_parameters(replica: Replica, names: Iterable[str]) -> set[str]:
    """Return which of some parameters are one rank's own, as far as it shows.

    Either others get what is computed with them, and send its gradient back; or they are a table, of which rows are
    read, that an optimizer of its own trains.
    """
    numbers = {replica.numbers[name]: name for name in names if name in replica.numbers}
    own = _exchanged(replica, numbers) | _trained_apart(replica, _tables(replica, numbers))
    return {numbers[one] for one in own}


def tables(replica: Replica, names: Iterable[str]) -> set[str]:
    """Return the parameters of which only rows are read: each rank may have a table of its own rows."""
    return {
        replica.names[one]
        for one in _tables(replica, {replica.numbers[name] for name in names if name in replica.numbers})
    }


def _exchanged(replica: Replica, numbers: dict[int, str]) -> set[int]:
    """Return the parameters whose results are sent in a forward pass before a shared parameter takes part."""
    bits = {number: 1 << place for place, number in enumerate(numbers)}
    made, found = dict(bits), 0
    shared = {number for number, name in replica.names.items() if name in replica.wrapped or name in replica.reduced}
    for event in replica.events:
        data = event.data
        inputs = data.get("inputs", ())
        if event.kind in ("operation", "function") and shared.isdisjoint(inputs):
            mask = 0
            for one in inputs:
                mask |= made.get(one, 0)
            if mask:
                made.update({one: made.get(one, 0) | mask for one in data.get("outputs", ())})
        elif event.kind == "collective" and _EXCHANGING & shares(event.op) and data.get("group_size", 1) > 1:
            for one, required in zip(inputs, data.get("requires_grad", ()), strict=False):
                found |= made.get(one, 0) if required and not data.get("grad") else 0
    return {number for number, bit in bits.items() if found & bit}


def _tables(replica: Replica, numbers: Iterable[int]) -> set[int]:
    """Return the tensors of which rows are read and no more."""
    read = dict.fromkeys(numbers, False)
    for event in replica.events:
        if event.kind == "operation" and "nodes" in event.data:
            for one in read.keys() & set(event.data.get("inputs", ())):
                read[one] = is_a(event.op, Trait.INDEXING)
                if not read[one]:
                    del read[one]
    return {one for one, by_rows in read.items() if by_rows}


def _trained_apart(replica: Replica, numbers: set[int]) -> set[int]:
    """Return the parameters whose optimizers have no shared ones."""
    apart = set(numbers)
    for event in replica.events:
        if event.kind == "optimizer" and event.data.get("action") == "step":
            stepped = set(event.data.get("parameters", {}).values())
            if any(
                replica.names.get(one) in replica.wrapped or replica.names.get(one) in replica.reduced
                for one in stepped
            ):
                apart -= stepped
    return apart
