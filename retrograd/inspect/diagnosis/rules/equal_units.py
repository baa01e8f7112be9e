"""Weights all of whose units began equal, and stay equal whatever they learn: the layer has effectively one unit."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.words import at, counted, named
from ..thresholds import HABIT, STEADY

_ARRANGING = (Trait.VIEW, Trait.RESHAPING, Trait.ARRANGING, Trait.COPY, Trait.CAST)
"""Traits of operators between a weight and the product that it is a factor of."""
_BY_ENTRIES = (*_ARRANGING, Trait.ELEMENTWISE, Trait.REDUCTION, Trait.WRITING)
"""Traits of operators that make no units of rows, as products and recurrent networks do."""
KINDS = {"equal-units": Kind("all units of a layer are equal in every step", "error", Stage.STRUCTURE)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for all weights that steps change, and whose rows were equal before each step."""
    found = []
    for leaf in flow.accumulated:
        steps = flow.ledger.steps_of.get(leaf, [])
        if not all(step.finds_same(leaf) for step in steps) or not _has_units(flow, leaf):
            continue
        moved = [
            step
            for step in steps
            if step.effects_known and flow.ledger.fresh(step, leaf) and not step.leaves_alone(leaf)
        ]
        if len(moved) >= STEADY:
            found.append(leaf)
    if found:
        yield _case(flow, sorted(found))
        return
    begun = [leaf for leaf in flow.accumulated if _begins_constant(flow, leaf) and _has_units(flow, leaf)]
    if len(begun) >= HABIT:
        yield _begun_case(flow, sorted(begun))


CHECK = Check("flat", KINDS, find)


def _has_units(flow: Flow, leaf: int) -> bool:
    """Whether rows of a leaf are weights of units, which all get the same input: scales of entries get one each."""
    arranged = flow.descendants([leaf], follow=lambda row: flow.does(row, *_ARRANGING)).tensors
    return any(not flow.does(row, *_BY_ENTRIES) for one in arranged for row in flow.used_in.get(one, ()))


def _filled(flow: Flow, leaf: int) -> SourceLine | None:
    """Return the line that gave a leaf its values."""
    first = flow.runs[0].begin
    row = flow.last_producer(leaf, first)
    return flow.facts(leaf).source if row is None else flow.events[row].source


def _begins_constant(flow: Flow, leaf: int) -> bool:
    """Whether all entries of a weight were one number other than zero when its first step began."""
    steps = flow.ledger.steps_of.get(leaf, [])
    row = flow.last_producer(leaf, flow.runs[0].begin)
    ranges = [] if row is None else flow.events[row].data.get("range") or []
    low, high = ranges[0] if ranges and ranges[0] else (0.0, 1.0)
    return bool(steps) and steps[0].finds_same(leaf) and low == high != 0.0


def _begun_case(flow: Flow, leaves: list[int]) -> Case:
    """Return the case of one network whose layers began with one number each."""
    names, source = named(flow, leaves), _filled(flow, leaves[0])
    return Case(
        kind="equal-units",
        severity="warning",
        message=f"all entries of each of {names} are the same number{at(source)}, so the units of a layer begin equal "
        "and get nearly equal gradients: only biases, if they differ, ever distinguish them.",
        remedy="initialise them with random numbers, as torch.nn.init.kaiming_uniform_(...)",
        source=source,
        op="",
        evidence={"leaves": [flow.name(leaf) for leaf in leaves]},
    )


def _case(flow: Flow, leaves: list[int]) -> Case:
    """Return the case of one network."""
    names, source = named(flow, leaves), _filled(flow, leaves[0])
    steps, one = flow.ledger.steps_of[leaves[0]], len(leaves) == 1
    return Case(
        kind="equal-units",
        message=f"all rows of {names} are equal{at(source)}, and still are before the last of "
        f"{counted(len(steps), 'step')}{at(steps[0].event.source)}: equal units get equal gradients, so nothing ever "
        "distinguishes them, and each layer learns what one unit could.",
        remedy=f"initialise {'it' if one else 'them'} with random numbers, as torch.nn.init.kaiming_uniform_(...)",
        source=source,
        op="",
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": len(steps)},
    )
