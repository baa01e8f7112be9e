"""Optimizers that hold other tensors than the graph does."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, permutations

from ...events import Event
from ...snapshot import SourceLine
from ..base import Case, Check, Kind, Stage
from ..expected_gradients import creation_row, optimized, updated_by_hand
from ..flow import Flow
from ..phrases import EMPTY_OPTIMIZER
from ..runs import Run
from ..words import at, counted, listed, place

KINDS = {
    "optimizer-mismatch": Kind("optimizer and graph hold different parameters", "error", Stage.OMISSION),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case when leaves get gradients that no optimizer uses, while optimizers hold what gets none."""
    if EMPTY_OPTIMIZER in flow.error_text:
        yield _empty_case(flow)
    held = optimized(flow)
    if not held or not flow.optimizer_steps or not flow.accumulated:
        return
    stale = [leaf for leaf in held if leaf not in flow.got_gradient and not _used(flow, leaf)]
    strangers, taught = _unregistered(flow, held), _taught(flow, held)
    missing = [leaf for leaf in taught if leaf not in held and _meant_to_train(flow, leaf, strangers)]
    made = max(held.values())
    later = [leaf for leaf in missing if creation_row(flow, leaf) > min(held.values())]
    if missing and (stale or later or strangers & set(missing) or _share_a_module(flow, missing, held)):
        yield _case(flow, missing, stale, made, strangers)
    elif missing and (idle := _idle(flow, set(missing))) is not None:
        yield _idle_case(flow, missing, idle)
    elif missing and (pair := _doubled(flow, set(missing))) is not None:
        yield _doubled_case(flow, missing, *pair)


CHECK = Check("unused", KINDS, find)


def _used(flow: Flow, leaf: int) -> bool:
    """Whether a call of a graph took a leaf; its initialisation does not count."""
    return any(flow.has_node(row) for row in flow.used_in.get(leaf, ()))


def _unregistered(flow: Flow, held: dict[int, int]) -> set[int]:
    """Return what modules whose parameters an optimizer has use without registering it."""
    found: set[int] = set()
    for _, event in flow.of_kind("module"):
        if set(event.data.get("parameters", {}).values()) & held.keys():
            found |= set(event.data.get("unregistered", {}).values())
    return found


def _taught(flow: Flow, held: dict[int, int]) -> list[int]:
    """Return the leaves to which gradients go as to what is trained: a step follows that is meant for them.

    It is if the same backward run serves what an optimizer holds, or if nothing else serves the step.  What
    another network gets on the way, as a copy that is asked for derivatives, or when the training is over, is not.
    """
    found: set[int] = set()
    for event, runs in _steps(flow):
        reached = [flow.arrivals_in(run).keys() for run in runs]
        stepped = event.data.get("parameters", {}).values()
        vain = flow.given_by_hand.union(*reached).isdisjoint(stepped)
        found.update(*(leaves for leaves in reached if vain or not leaves.isdisjoint(held)))
    return [leaf for leaf in flow.accumulated if leaf in found]


def _steps(flow: Flow) -> Iterator[tuple[Event, list[Run]]]:
    """Yield the steps of all optimizers, and the backward runs for each: those since the step before.

    Where the first step comes before any run, steps call closures, and the runs come after their step.
    """
    steps = flow.optimizer_steps
    runs = [run for run in flow.runs if run.accumulates]
    bounds = [bisect_left(runs, row, key=lambda run: run.begin) for row in steps]
    begins, ends = [0, *bounds], bounds
    if bounds and bounds[0] == 0:
        begins, ends = bounds, [*bounds[1:], len(runs)]
    for step, begin, end in zip(steps, begins, ends, strict=False):
        yield flow.events[step], runs[begin:end]


def _meant_to_train(flow: Flow, leaf: int, strangers: set[int]) -> bool:
    """Whether a leaf that gets gradients is a parameter, or a module's own, that nobody updates by hand."""
    return (flow.facts(leaf).parameter or leaf in strangers or _goes_on(flow, leaf)) and not updated_by_hand(flow, leaf)


def _goes_on(flow: Flow, leaf: int) -> bool:
    """Whether a leaf that is no module's takes part in step after step, as only what is to be trained does.

    What derivatives are taken by within the loss, as by the coordinates of a differential equation, is data.
    """
    coordinate = any(leaf in run.inputs and run.began.get("create_graph") for run in flow.runs)
    arrivals = flow.accumulated[leaf]
    stepped = (
        bool(flow.optimizer_steps) and flow.optimizer_steps[-1] > arrivals[0]
    )  # what only gets gradients after the training is looked at
    return stepped and flow.spelling.has_name(leaf) and len(arrivals) > 1 and not coordinate


def _share_a_module(flow: Flow, missing: list[int], held: dict[int, int]) -> bool:
    """Whether one module holds parameters of both sorts."""
    for _, event in flow.of_kind("module"):
        own = set(event.data.get("parameters", {}).values())
        if own & set(missing) and own & set(held):
            return True
    return False


def _idle(flow: Flow, missing: set[int]) -> int | None:
    """Return the row that made an optimizer each of whose steps follows gradients for leaves that nobody holds only."""
    idle: dict[object, bool] = {}
    for event, runs in _steps(flow):
        reached = {leaf for run in runs for leaf in flow.arrivals_in(run)}
        with_grad = reached | flow.given_by_hand  # set by hand as of master copies
        vain = bool(reached & missing) and with_grad.isdisjoint(event.data.get("parameters", {}).values())
        idle[event.data.get("owner")] = vain and idle.get(event.data.get("owner"), True)
    made = flow.of_kind("optimizer", action="made")
    return next((row for row, event in made if idle.get(event.data.get("owner"))), None)


def _idle_case(flow: Flow, missing: list[int], made: int) -> Case:
    """Return the case of an optimizer that was given another network than the one it steps for."""
    optimizer = flow.events[made]
    names = listed(flow.name(leaf) for leaf in missing)
    held = listed(flow.name(leaf) for leaf in optimizer.data.get("parameters", {}).values())
    message = (
        f"the optimizer made{at(optimizer.source)} steps after backward runs that reach none of what it holds "
        f"({held}): {names} get gradients there, and no optimizer has them."
    )
    return _misgiven(
        flow, missing, optimizer, message, f"give the optimizer the parameters that its loss depends on: {names}"
    )


def _misgiven(flow: Flow, missing: list[int], optimizer: Event, message: str, remedy: str) -> Case:
    """Return the case of an optimizer that was given other tensors than its steps are meant for."""
    return Case(
        kind="optimizer-mismatch",
        message=message,
        remedy=remedy,
        source=optimizer.source,
        op=optimizer.data.get("type", ""),
        subjects=frozenset(missing),
        evidence={"missing": [flow.name(leaf) for leaf in missing], "stale": []},
    )


def _doubled(flow: Flow, missing: set[int]) -> tuple[int, int] | None:
    """Return the rows that made two optimizers of the same tensors, of which one steps for what nobody holds.

    They take turns, only the steps of the first follow gradients for ``missing``, and those come through what both
    hold, as a generator's come through the critic: it was meant for them, and was given the other's.  What lies
    between the held tensors and the loss, as a critic that nobody trains, only judges them.
    """
    serves: dict[object, set[int]] = defaultdict(set)
    turns: list[object] = []
    for event, runs in _steps(flow):
        owner = event.data.get("owner")
        turns.append(owner)
        serves[owner].update(leaf for run in runs for leaf in flow.arrivals_in(run) if leaf in missing)
    for (row, event), (other, twin) in permutations(flow.of_kind("optimizer", action="made"), 2):
        mine, theirs = event.data.get("owner"), twin.data.get("owner")
        held = set(event.data["parameters"].values())
        alone = bool(serves[mine]) and theirs in turns and not serves[theirs]
        same = held == set(twin.data["parameters"].values())
        if alone and same and _in_turn(turns, mine, theirs) and _feeds(flow, serves[mine], held):
            return row, other
    return None


def _in_turn(turns: list[object], one: object, other: object) -> bool:
    """Whether each of two optimizers steps again after the other has: they serve no phases that follow one another."""
    return len(list(groupby(owner for owner in turns if owner in (one, other)))) > 2


def _feeds(flow: Flow, leaves: set[int], held: set[int]) -> bool:
    """Whether what is computed with the first leaves goes into calls of a graph that take the others."""
    calls = flow.descendants(leaves, follow=flow.has_node).calls
    return any(flow.has_node(row) and row in calls for leaf in held for row in flow.used_in.get(leaf, ()))


def _doubled_case(flow: Flow, missing: list[int], made: int, twin: int) -> Case:
    """Return the case of an optimizer that was given what another one has."""
    optimizer, names = flow.events[made], listed(flow.name(leaf) for leaf in missing)
    message = (
        f"the optimizer made{at(optimizer.source)} was given the tensors that the one made"
        f"{at(flow.events[twin].source)} has; it steps after gradients for {names}, which no optimizer has."
    )
    return _misgiven(
        flow, missing, optimizer, message, f"give the optimizer the parameters that its loss is to train: {names}"
    )


def _case(flow: Flow, missing: list[int], stale: list[int], made: int, strangers: set[int]) -> Case:
    """Return the case of leaves that the optimizer made in row ``made`` should hold; ``stale`` is what it holds."""
    optimizer = flow.events[made]
    copies = [leaf for leaf in stale if not flow.leading_to([leaf]).isdisjoint(missing)]
    began = [creation_row(flow, leaf) for leaf in missing]  # -1 is unknown: it may have been made since
    forgotten = (
        not copies and not strangers & set(missing) and all((not stale or row >= 0) and row < made for row in began)
    )
    hidden = strangers >= set(missing)
    source = optimizer.source if forgotten else _line_of(flow, copies or missing) or optimizer.source
    one = len(missing) == 1
    it = "it" if one else "them"
    if forgotten:
        why = f", which was not given {it}"
    elif copies:
        why = f": it holds {'a copy' if one else 'copies'} made{at(source)}"
    else:
        why = f": made{at(source)}, {'no module registers' if hidden else 'it knows nothing of'} {it}"
    verbs = ("gets a gradient", "is") if one else ("get gradients", "are")
    return Case(
        kind="optimizer-mismatch",
        message=f"{listed(flow.name(leaf) for leaf in missing)} {verbs[0]} but {verbs[1]} in no group of the optimizer "
        f"made{at(optimizer.source)}{why}{_dead_words(stale)}.",
        remedy=_remedy(hidden=hidden, forgotten=forgotten, copied=bool(copies)),
        source=source,
        op=optimizer.data.get("type", ""),
        subjects=frozenset([*missing, *stale]),
        evidence={"missing": [flow.name(leaf) for leaf in missing], "stale": [flow.name(leaf) for leaf in stale]},
    )


def _dead_words(stale: list[int]) -> str:
    """Return what to add of tensors that an optimizer holds for nothing."""
    if not stale:
        return ""
    return f"; {counted(len(stale), 'tensor')} that it holds {'is' if len(stale) == 1 else 'are'} in no graph"


def _remedy(*, hidden: bool, forgotten: bool, copied: bool) -> str:
    """Return what to write instead, by why the optimizer does not hold what it should."""
    if hidden:
        return "use torch.nn.ModuleList or ModuleDict in place of a list or dict, torch.nn.Parameter for a tensor"
    if forgotten:
        return "give it all parameters of the model that computes the loss: model.parameters()"
    if copied:
        return "give it the parameters themselves: model.parameters()"
    return "build the optimizer after the model has all its parameters, or optimizer.add_param_group(...)"


def _line_of(flow: Flow, leaves: list[int]) -> SourceLine | None:
    """Return the line that made the leaves."""
    return next((flow.facts(leaf).source for leaf in leaves if flow.facts(leaf).source), None)


def _empty_case(flow: Flow) -> Case:
    """Return the case of an optimizer that was given nothing: most often a generator that had been read to its end."""
    source = flow.error.source if flow.error else None
    text = flow.spelling.text(source)
    given = re.search(r"\b[A-Z]\w*\(\s*(?:params\s*=\s*)?([A-Za-z_][\w.]*)\s*[,)]", text)
    name = given[1] if given else ""
    made, used = _generator(flow, name, source)
    frozen = [leaf for leaf in range(len(flow.tensors)) if flow.switched_off(leaf, len(flow.events)) is not None]
    why, remedy = f"{name or 'what it is given'} yields nothing", "give it list(model.parameters())"
    why += "; a generator that was read before has nothing left"
    kind, cause = "optimizer-mismatch", source
    if made is not None:
        why, remedy = f"{name}{at(made)} is a generator, which can be read only once", f"{name} = list({name})"
        remedy = re.sub(r"=\s*(.+)$", r"= list(\1)", flow.spelling.text(made)) or remedy
        if used is not None:
            cause = used
            why += f", and {place(used)} had read it to its end"
    elif frozen:
        cause = flow.events[flow.switched_off(frozen[0], len(flow.events)) or 0].source
        why = f"requires_grad was switched off{at(cause)} for {counted(len(frozen), 'parameter')}"
        kind = "frozen-parameter"
        remedy = "switch on what is to be trained: p.requires_grad_(True)"
    return Case(
        kind=kind,
        message=f"the optimizer{at(source)} gets an empty parameter list: {why}.",
        remedy=remedy,
        source=cause,
        op="Optimizer",
        explains_error=True,
    )


def _generator(flow: Flow, name: str, source: SourceLine | None) -> tuple[SourceLine | None, SourceLine | None]:
    """Return the line that sets a name to a generator of parameters, and the first after it that reads it to its end.

    As far as the text above the optimizer's line was kept.
    """
    lines = flow.recording.sources.get(source.file, {}) if source and name else {}
    upto = source.line if source else 0
    sets = re.compile(rf"^\s*{re.escape(name)}\s*=\s*(.*(parameters|named_parameters)\(.*\)|filter\(.*|\(.* for .*)")
    reads = re.compile(rf"\b(in|list|tuple|sum|len|map|sorted|set|enumerate)\b[ (]+{re.escape(name)}\b")
    made = max((number for number, text in lines.items() if number < upto and sets.match(text)), default=0)
    if not made or source is None or re.match(r"^[^=]*=\s*(list|tuple|\[)", lines[made]):
        return None, None
    used = [number for number, text in sorted(lines.items()) if made < number < upto and reads.search(text)]
    spots = [SourceLine(source.file, number, source.function) for number in (made, *used[:1])]
    return spots[0], spots[1] if used else None
