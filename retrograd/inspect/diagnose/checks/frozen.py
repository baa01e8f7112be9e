"""Parameters whose ``requires_grad`` was switched off although their gradient is wanted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from ...snapshot import SourceLine
from ..base import Case, Check, Kind, Stage
from ..expected_gradients import made_since, optimized
from ..flow import Flow
from ..phrases import NO_GRAPH, NOT_REQUIRED
from ..runs import Run
from ..words import at, counted, listed
from .frozen_by_name import caught_by_name

KINDS = {"frozen-parameter": Kind("`requires_grad` was switched off", "error", Stage.STATEMENT)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that froze what a program goes on to train."""
    failed = next((run for run in flow.runs if NO_GRAPH in run.error), None)
    frozen = _behind(flow, failed) if failed is not None else _frozen_amid_training(flow)
    by_line: dict[SourceLine | None, list[int]] = {}
    for leaf, row in frozen.items():
        by_line.setdefault(flow.events[row].source, []).append(leaf)
    everything = len(by_line) == 1 and failed is not None
    for source, leaves in by_line.items():
        yield _case(flow, leaves, source, failed if everything or failed else None)
    yield from _asked_in_vain(flow)
    yield from _given_in_vain(flow)
    yield from _picked_in_vain(flow)
    yield from _taken_in_again(flow)
    yield from caught_by_name(flow)


CHECK = Check("chain", KINDS, find)


def _behind(flow: Flow, run: Run) -> dict[int, int]:
    """Return the frozen tensors behind a loss that has no graph, each with the row that froze it."""
    trained = trained_then_frozen(flow, run)
    if trained:
        return trained
    tensors = flow.behind(run.roots, run.begin, gradients=False).tensors
    if any(flow.requires_grad(tensor, run.begin) for tensor in tensors):
        return {}
    return _frozen(flow, sorted(tensors), run.begin)


def trained_then_frozen(flow: Flow, run: Run) -> dict[int, int]:
    """Return the leaves behind a loss, on this side of every cut, that once got gradients and were frozen since."""
    todo, seen = [(root, run.begin) for root in run.roots], set(run.roots)
    while todo:
        tensor, before = todo.pop()
        for row in flow.producers(tensor, before):
            if flow.events[row].kind == "operation":
                fresh = [given for given in flow.inputs(row) if given not in seen]
                seen.update(fresh)
                todo.extend((given, row) for given in fresh)
    return _frozen(flow, sorted(seen.intersection(flow.accumulated)), run.begin)


def _frozen(flow: Flow, tensors: list[int], before: int) -> dict[int, int]:
    found = {tensor: flow.switched_off(tensor, before) for tensor in tensors}
    return {tensor: row for tensor, row in found.items() if row is not None}


def _frozen_amid_training(flow: Flow) -> dict[int, int]:
    """Return the tensors that were trained, then frozen, and whose optimizer went on without a gradient for them.

    Other networks train on while one is frozen, as a critic is for the generator's step: only its own tells.
    """
    found: dict[int, int] = {}
    held = optimized(flow)
    last_run = flow.runs[-1].begin if flow.runs else -1
    for leaf, arrivals in flow.accumulated.items():
        row = flow.switched_off(leaf, len(flow.events))
        following = None if row is None else flow.run_after(row)
        if row is not None and following is not None and arrivals[0] < row and _goes_on(flow, leaf, following.begin):
            found[leaf] = row
    never = [leaf for leaf in held if leaf not in flow.accumulated]
    idle = bool(held) and len(never) == len(held) and last_run > 0  # the optimizer has nothing at all to do
    if idle and not made_since(flow, flow.accumulated.keys() - held.keys(), min(held.values())):
        found |= _frozen(flow, never, last_run)
    return found


def _goes_on(flow: Flow, leaf: int, begin: int) -> bool:
    """Whether a leaf's optimizer, after a row, steps or clears twice without a gradient that arrived in between."""
    arrivals = flow.accumulated[leaf]
    for action in ("step", "zero_grad"):
        uses = flow.leaf_events.get((leaf, action), [])
        vain = (bisect_left(arrivals, last) == bisect_left(arrivals, use) for last, use in pairwise([-1, *uses]))
        if any(nothing and use > begin for use, nothing in zip(uses, vain, strict=True)):
            return True
    return False


def _case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run | None) -> Case:
    """Return the case of one line that froze."""
    names = listed((flow.name(leaf) for leaf in leaves), most=8)
    root = flow.root_name(failed)
    freezing = f"requires_grad was switched off{at(source)} for {counted(len(leaves), 'parameter')}: {names}"
    if failed is not None:
        message = f"nothing that {root} depends on requires grad: {freezing}, which is every one behind {root}."
    else:
        message = f"{freezing}; the optimizer steps on, but they get no gradient."
    return Case(
        kind="frozen-parameter",
        message=message,
        remedy="freeze only what is meant (compare whole names or prefixes with their dot), or switch it on again: "
        "p.requires_grad_(True)",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=failed is not None,
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _asked_in_vain(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that left ``autograd.grad`` nothing to ask for: the tensor does not require grad.

    Only if that ended the program: who catches the refusal only tried.
    """
    failed = flow.runs[-1] if flow.runs and NOT_REQUIRED in flow.error_text else None
    if failed is None or NOT_REQUIRED not in failed.error:
        return
    by_line: dict[tuple[SourceLine | None, bool], list[int]] = {}
    for leaf in failed.inputs:
        if flow.is_leaf(leaf) and not flow.requires_grad(leaf, failed.begin):
            row = flow.switched_off(leaf, len(flow.events))
            source = flow.facts(leaf).source if row is None else flow.events[row].source
            by_line.setdefault((source, row is not None), []).append(leaf)
    for (source, switched), leaves in by_line.items():
        yield _asked_case(flow, leaves, source, failed, switched=switched)


def _asked_case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run, *, switched: bool) -> Case:
    """Return the case of one line that made leaves without ``requires_grad``, or switched it off."""
    names, one = listed(flow.name(leaf) for leaf in leaves), len(leaves) == 1
    done = "requires_grad was switched off" if switched else "made without requires_grad=True"
    return Case(
        kind="frozen-parameter",
        message=f"{names} {'does' if one else 'do'} not require grad ({done}{at(source)}), so autograd.grad"
        f"{at(failed.source)} cannot give {'its' if one else 'their'} gradient.",
        remedy=f"{flow.name(leaves[0])}.requires_grad_(True) before the forward pass",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=True,
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _given_in_vain(flow: Flow) -> Iterator[Case]:
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
    off = all(flow.switched_off(leaf, len(flow.events)) is not None for leaf in leaves)
    off = off and all(flow.switched_off(leaf, row) is not None for leaf in leaves)
    return off and any(call > row and flow.has_node(call) for leaf in leaves for call in flow.used_in.get(leaf, ()))


def _vain_case(flow: Flow, leaves: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of one group."""
    row = flow.switched_off(leaves[0], len(flow.events))
    source = flow.facts(leaves[0]).source if row is None else flow.events[row].source
    done, remedy = ("made with requires_grad=False", "leave out requires_grad=False there")
    if row is not None:
        done, remedy = ("frozen (requires_grad switched off)", "freeze only what is meant")
    names, one = listed(flow.name(leaf) for leaf in leaves), len(leaves) == 1
    return Case(
        kind="frozen-parameter",
        message=f"{names} {'is' if one else 'are'} {done}{at(source)}, yet the optimizer made"
        f"{at(optimizer)} has a group for {'it' if one else 'them'} alone, which trains nothing.",
        remedy=f"{remedy}, or {flow.name(leaves[0])}.requires_grad_(True) before training",
        source=source,
        op="Parameter",
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _picked_in_vain(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that was given some of what one line froze, picked out from among the rest.

    Whoever hands over a frozen network whole may do so out of habit; who picks from one means to train what is picked.
    """
    end = len(flow.events)
    modules = [set(event.data.get("parameters", {}).values()) for _, event in flow.of_kind("module")]
    held = optimized(flow)
    for row, event in flow.of_kind("optimizer", action="made"):
        own = set(event.data.get("parameters", {}).values())
        picked: dict[SourceLine | None, list[int]] = {}
        for leaf in own:
            since = flow.switched_off(leaf, row)
            if since is not None and flow.switched_off(leaf, end) is not None and flow.used_in.get(leaf):
                picked.setdefault(flow.events[since].source, []).append(leaf)
        for source, leaves in picked.items():
            module = next((one for one in modules if one.issuperset(leaves)), set())
            passed = [leaf for leaf in module - held.keys() if _frozen_at(flow, leaf, row) == source and source]
            if passed and any(run.begin > row for run in flow.runs):
                yield _picked_case(flow, sorted(leaves), passed, event.source)
                return


def _frozen_at(flow: Flow, leaf: int, before: int) -> SourceLine | None:
    """Return the line that switched a leaf off, if it was off before a row."""
    row = flow.switched_off(leaf, before)
    return None if row is None else flow.events[row].source


def _picked_case(flow: Flow, leaves: list[int], passed: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of parameters that an optimizer was given from among frozen ones."""
    row = flow.switched_off(leaves[0], len(flow.events))
    source = None if row is None else flow.events[row].source
    names = listed((flow.name(leaf) for leaf in leaves), most=8)
    return Case(
        kind="frozen-parameter",
        message=f"requires_grad was switched off{at(source)} for {names}, as for "
        f"{counted(len(passed), 'parameter')} beside them; the optimizer made{at(optimizer)} was given these alone of "
        "all that was frozen there, but they get no gradient.",
        remedy=f"freeze only what is meant, or {flow.name(leaves[0])}.requires_grad_(True) before training",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _taken_in_again(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer that takes in, beside what an earlier one had, what was frozen for that one."""
    made = list(flow.of_kind("optimizer", action="made"))
    sets = [set(event.data.get("parameters", {}).values()) for _, event in made]
    for number, (row, event) in enumerate(made):
        for (before, _), earlier in zip(made[:number], sets, strict=False):
            added = sets[number] - earlier if earlier < sets[number] else set()
            off = {leaf: flow.switched_off(leaf, before) for leaf in added if flow.used_in.get(leaf)}
            still = [leaf for leaf, since in off.items() if since is not None and not flow.requires_grad(leaf, row)]
            if still and len(still) == len(off) and any(run.begin > row for run in flow.runs):
                yield _again_case(flow, sorted(still), event.source)
                return


def _again_case(flow: Flow, leaves: list[int], optimizer: SourceLine | None) -> Case:
    """Return the case of parameters that a second phase means to train and nobody switched on again."""
    row = flow.switched_off(leaves[0], len(flow.events))
    source = flow.events[row].source if row is not None else optimizer
    return Case(
        kind="frozen-parameter",
        message=f"{listed(flow.name(leaf) for leaf in leaves)} were frozen (requires_grad switched off){at(source)} "
        f"for an earlier phase; the optimizer made{at(optimizer)} takes them in, but nothing switched them on again, "
        "so they get no gradient.",
        remedy="p.requires_grad_(True) for these parameters before the optimizer is made",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )
