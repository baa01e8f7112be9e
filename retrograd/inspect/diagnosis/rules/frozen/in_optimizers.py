"""Frozen parameters that were passed to an optimizer on purpose: a separate group, a selection, a second phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....program.places import SourceLine
from ...base import Case
from ...facts.calls import held_by
from ...facts.failures import run_without_graph
from ...facts.flow import Flow
from ...text.phrases import NO_GRAPH
from ...text.words import at, counted, in_code, listed, named


def held_for_nothing(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that is meant to train frozen parameters."""
    yield from _never_trainable(flow)
    yield from _given_but_frozen(flow)
    yield from _picked_but_frozen(flow)
    yield from _taken_in_again(flow)


def _never_trainable(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that holds nothing which ever required grad, where no loss has a graph."""
    refused = run_without_graph(flow)
    for _, event in flow.of_kind("optimizer", action="made") if refused is not None else ():
        leaves = sorted(held_by(event))
        lines = [flow.facts(leaf).source for leaf in leaves]
        if refused is None or not leaves or lines[0] is None or not _never_on(flow, leaves):
            continue
        names, were = named(flow, leaves), "was" if len(leaves) == 1 else "were"
        case = _case(
            flow,
            leaves,
            lines[0],
            f"nothing that the optimizer made{at(event.source)} holds requires grad: {names} {were} "
            f"made{at(lines[0])} without requires_grad=True, so {flow.root_name(refused)} has no graph.",
            f"{in_code(flow.name(leaves[0]))}.requires_grad_(True), or requires_grad=True where it is made",
        )
        yield replace(case, explains_error=NO_GRAPH in flow.error_text)


def _given_but_frozen(flow: Flow) -> Iterator[Case]:
    """Yield a case for each group of an optimizer that holds nothing but parameters which do not require grad.

    What was switched off counts only above something that is trained: what lies below is frozen to save its backward.
    """
    reported: set[int] = set()
    for row, event in flow.of_kind("optimizer", action="made"):
        groups: dict[str, list[int]] = {}
        for place, leaf in event.data.get("parameters", {}).items():
            groups.setdefault(place.partition(".")[0], []).append(leaf)
        for leaves in groups.values() if len(groups) > 1 else ():
            if reported.isdisjoint(leaves) and (_never_on(flow, leaves) or _kept_off(flow, leaves, row)):
                reported.update(leaves)
                yield _vain_case(flow, leaves, event.source)


def _never_on(flow: Flow, leaves: list[int]) -> bool:
    """Whether leaves that are used were made with requires_grad=False."""
    return any(flow.used_in.get(leaf) for leaf in leaves) and not any(flow.requires_grad(leaf) for leaf in leaves)


def _kept_off(flow: Flow, leaves: list[int], row: int) -> bool:
    """Whether leaves were all switched off before a row, stay so, and are used above something that is trained."""
    off = all(flow.switched_off(leaf) is not None for leaf in leaves)
    off = off and all(flow.switched_off(leaf, row) is not None for leaf in leaves)
    return off and any(call > row and flow.has_node(call) for leaf in leaves for call in flow.used_in.get(leaf, ()))


def _vain_case(flow: Flow, leaves: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of one group."""
    if flow.switched_off(leaves[0]) is None:
        source, done, remedy = (
            flow.facts(leaves[0]).source,
            "made with requires_grad=False",
            "leave out requires_grad=False there",
        )
    else:
        source, done = flow.frozen_at(leaves[0]), "frozen (requires_grad switched off)"
        remedy = "freeze only what is meant"
    names, one = named(flow, leaves), len(leaves) == 1
    return _case(
        flow,
        leaves,
        source,
        f"{names} {'is' if one else 'are'} {done}{at(source)}, yet the optimizer made{at(optimizer)} has a group for "
        f"{'it' if one else 'them'} alone, which trains nothing.",
        f"{remedy}, or {in_code(flow.name(leaves[0]))}.requires_grad_(True) before training",
    )


def _picked_but_frozen(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that was given a selection of what one line froze.

    Whoever hands over a frozen network whole may do so out of habit; who picks from one means to train what is picked.
    """
    modules = [held_by(event) for _, event in flow.of_kind("module")]
    held = flow.optimized
    for row, event in flow.of_kind("optimizer", action="made"):
        own = held_by(event)
        picked: dict[SourceLine | None, list[int]] = {}
        for leaf in own:
            still = flow.switched_off(leaf, row) is not None and flow.switched_off(leaf) is not None
            if still and flow.used_in.get(leaf):
                picked.setdefault(flow.frozen_at(leaf, row), []).append(leaf)
        for source, leaves in picked.items():
            module = next((one for one in modules if one.issuperset(leaves)), set())
            passed = [leaf for leaf in module - held.keys() if flow.frozen_at(leaf, row) == source and source]
            if passed and any(run.begin > row for run in flow.runs):
                yield _picked_case(flow, sorted(leaves), passed, event.source)
                return


def _picked_case(flow: Flow, leaves: list[int], passed: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of parameters that an optimizer was given from among frozen ones."""
    source = flow.frozen_at(leaves[0])
    names = listed((flow.name(leaf) for leaf in leaves), most=8)
    return _case(
        flow,
        leaves,
        source,
        f"requires_grad was switched off{at(source)} for {names}, as for {counted(len(passed), 'parameter')} beside "
        f"them; the optimizer made{at(optimizer)} was given these alone of all that was frozen there, but they get no "
        "gradient.",
        f"freeze only what is meant, or {in_code(flow.name(leaves[0]))}.requires_grad_(True) before training",
    )


def _taken_in_again(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that includes, besides an earlier one's parameters, those frozen for that one."""
    made = list(flow.of_kind("optimizer", action="made"))
    sets = [held_by(event) for _, event in made]
    for number, (row, event) in enumerate(made):
        for (before, _), earlier in zip(made[:number], sets, strict=False):
            added = sets[number] - earlier if earlier < sets[number] else set()
            off = {leaf: flow.switched_off(leaf, before) for leaf in added if flow.used_in.get(leaf)}
            still = [leaf for leaf, since in off.items() if since is not None and not flow.requires_grad(leaf, row)]
            if still and len(still) == len(off) and any(run.begin > row for run in flow.runs):
                yield _again_case(flow, sorted(still), event.source)
                return


def _again_case(flow: Flow, leaves: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of parameters that a second phase is meant to train and that were not unfrozen."""
    source = flow.frozen_at(leaves[0]) or optimizer
    return _case(
        flow,
        leaves,
        source,
        f"{named(flow, leaves)} were frozen (requires_grad switched off){at(source)} for an "
        f"earlier phase; the optimizer made{at(optimizer)} takes them in, but nothing switched them on again, so they "
        "get no gradient.",
        "p.requires_grad_(True) for these parameters before the optimizer is made",
    )


def _case(flow: Flow, leaves: list[int], source: SourceLine | None, message: str, remedy: str) -> Case:
    """Return the case of frozen parameters that an optimizer holds."""
    return Case(
        kind="frozen-parameter",
        message=message,
        remedy=remedy,
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )
