"""Trainable leaves that no loss depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.calls import held_by
from ..facts.flow import Flow
from ..facts.lines import answer_per_leaf
from ..facts.runs import Run
from ..roles.trained import awaited, expected_gradients
from ..roles.unused import (
    Again,
    Block,
    Others,
    calls_once,
    dropped_at,
    goes_on,
    left_out_by_a_package,
    made_by_a_package,
    others_of,
    unused_blocks,
    used_again,
    used_in_a_case,
)
from ..text.phrases import UNREDUCED, UNUSED
from ..text.spelling import assigned, returns
from ..text.words import at, listed, parameters

KINDS = {
    "unused-parameter": Kind("a trainable leaf is not reachable from the loss", "error", Stage.STRUCTURE),
}


@dataclass(frozen=True, slots=True)
class _End:
    """Where the values of a leaf ended: the last call they reached, and what replaced its result."""

    row: int | None = None
    name: str = ""
    instead: int | None = None
    """The call that overwrote the name, if one did."""
    taken: SourceLine | None = None
    """The line that took the result of a function and gave it the name, if that is how it got one."""
    dropped: SourceLine | None = None
    """The line that calls for the result and does nothing with it."""
    replaced: int | None = None
    """The first call of the leaf's module, with another tensor in its place."""
    copied: int | None = None
    """The call by which the leaf was copied, if the copy is a leaf that gets the gradients in its place."""
    looked_at: int | None = None
    """The first call that uses the leaf, if no backward pass could have gone through any."""
    case: SourceLine | None = None
    """The line that would take the leaf's module, in a case that did not occur."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line at which results of trainable leaves were lost, or leaves never used."""
    if not any(run.accumulates or run.inputs for run in flow.runs):
        return
    failed = next((run for run in flow.runs if UNUSED in run.error), None)
    unreached, silent = _unreached(flow, failed)
    yield from (_silent_case(flow, leaves, against) for against, leaves in silent.items())
    ends = dict(answer_per_leaf(flow, unreached, lambda leaf: _end_of(flow, leaf)))
    blocks = [] if failed else list(unused_blocks(flow, {leaf for leaf, end in ends.items() if end == _End()}))
    for block in blocks:
        yield _case_of_block(flow, block)
    in_blocks = {leaf for block in blocks for leaf in block.leaves}
    by_place: dict[tuple[object, ...], tuple[SourceLine | None, _End, list[int]]] = {}
    for leaf, end in ends.items():
        if leaf in in_blocks:
            continue
        source = _source(flow, end, leaf)
        by_place.setdefault((source, end.name, end.case), (source, end, []))[2].append(leaf)
    for source, end, leaves in by_place.values():
        yield _case(flow, end, leaves, source, failed)


CHECK = Check("unused", KINDS, find)


def _unreached(flow: Flow, failed: Run | None) -> tuple[list[int], dict[str, list[int]]]:
    """Return the leaves that are wanted, get nothing and whose values reach no loss at all.

    Also those of them that may be meant to stay so, by what speaks for that.
    """
    found, silent = list[int](), defaultdict[str, list[int]](list)
    if failed is not None:
        reached = flow.values_behind(failed).tensors  # a cut keeps these from a gradient: other rules explain that
        return [leaf for leaf in failed.inputs if leaf not in reached], silent
    if any(run.error for run in flow.runs) or not flow.got_gradient:
        return found, silent
    leading, aside = flow.leading_to({root for run in flow.runs for root in run.roots}), _set_aside(flow)
    for leaf, why in expected_gradients(flow).items():
        if leaf not in flow.got_gradient and leaf not in leading:
            against = _against(flow, leaf, why, aside)
            (silent[against] if against else found).append(leaf)
    return found, silent


def _against(flow: Flow, leaf: int, why: str, aside: set[int]) -> str:
    """Return evidence that the gradient of a leaf is not expected, "" if it is; ``why`` it was."""
    parameter = flow.facts(leaf).parameter
    if why == "asked":
        return "autograd.grad was asked for it and did not refuse: allow_unused=True says that it may be unused"
    if why == "used" and not flow.spelling.has_name(leaf):
        return "no optimizer says that it is to be trained, and the program has no name for it"
    if not (flow.used_in.get(leaf) or why == "optimizer" or parameter or awaited(flow, leaf)):
        return "nothing uses it, it is not a parameter, and nothing reads its gradient"
    if leaf in aside:
        return "only optimizers that never step have it, while others step"
    if not parameter and _last_of_a_loop(flow, leaf):
        return "it is what a loop of such leaves arrived at, which no pass follows"
    return ""


def _silent_case(flow: Flow, leaves: list[int], against: str) -> Case:
    """Return the case of leaves without gradient that may be intended to have none."""
    return Case(
        kind="unused-parameter",
        message=f"{_called(leaves, list(map(flow.name, leaves)))} got no gradient, and no loss depends on "
        f"{'it' if len(leaves) == 1 else 'them'}.",
        source=flow.facts(leaves[0]).source,
        subjects=frozenset(leaves),
        against=against,
    )


def _last_of_a_loop(flow: Flow, leaf: int) -> bool:
    """Whether a line made a leaf from its own earlier one that got a gradient: it is the final one of a loop.

    As the perturbation that an attack ends with, whose gradient nobody waits for.
    """
    line = flow.facts(leaf).source
    earlier = flow.leading_to([leaf]) & flow.got_gradient
    return any(flow.facts(one).source == line for one in earlier - {leaf})


def _set_aside(flow: Flow) -> set[int]:
    """Return what only unused optimizers hold, while others step: given up, or restored for inspection."""
    idle: set[int] = set()
    busy: set[int] = set()
    for _, event in flow.of_kind("optimizer"):
        held = held_by(event)
        (idle if event.data.get("action") == "made" else busy).update(held)
    return idle - busy if busy else set()


def _end_of(flow: Flow, leaf: int) -> _End:
    """Follow the values of a leaf to the last call with a name, and examine what the program did with that name."""
    made = {row for tensor in flow.descendants([leaf]).tensors for row in flow.made_in.get(tensor, ())}
    last = flow.runs[-1].begin if flow.runs else len(flow.events)  # what comes after it is only evaluated
    reached = sorted(row for row in made if row < last and (flow.has_node(row) or _kept_cut(flow, row)))
    if any(map(flow.has_node, reached)):  # then what an evaluation computed means nothing
        reached = [row for row in reached if flow.has_node(row) or flow.events[row].data.get("grad")]
    for row in reversed(reached):
        outputs = flow.events[row].data.get("outputs", ())
        name = next((name for name in flow.events[row].data.get("output_names", ()) if name.strip("_")), "")
        if outputs and name:
            return _End(row, name, _overwritten(flow, row, name))
        if row == reached[-1] and (taken := _taken(flow, row)) is not None:
            return taken
    if reached:
        return _End(reached[-1], dropped=dropped_at(flow, reached[-1]))
    uses = [row for row in flow.used_in.get(leaf, ()) if flow.outputs(row) and flow.target(row) is None]
    looked_at = min(uses) if uses else None
    case = used_in_a_case(flow, leaf) if looked_at is None else None
    return _End(replaced=_replaced(flow, leaf), copied=_copied_into(flow, leaf), looked_at=looked_at, case=case)


def _copied_into(flow: Flow, leaf: int) -> int | None:
    """Return the call that copied a leaf into memory of another one that gets a gradient: ``deepcopy`` of a module."""
    shape = flow.facts(leaf).shape
    for copy in sorted(flow.descendants([leaf]).tensors - {leaf}):
        made = flow.facts(copy).made_by
        whole = made is not None and flow.does(made, Trait.COPY) and flow.facts(copy).shape == shape
        if whole and not flow.got_gradient.isdisjoint([copy, *flow.same_memory(copy)]):
            return made
    return None


def _replaced(flow: Flow, leaf: int) -> int | None:
    """Return the first call of a leaf's module that had another tensor under the leaf's name, as of functional_call."""
    facts, name = flow.facts(leaf), f".{flow.facts(leaf).name}"
    for row, event in flow.of_kind("module"):
        module = str(event.data.get("scope", event.data.get("name"))).replace("/", ".")
        for dotted, other in event.data.get("parameters", {}).items():
            same = other != leaf and flow.facts(other).shape == facts.shape
            if same and name.endswith(f".{module}.{dotted}"):
                return row
    return None


def _taken(flow: Flow, row: int) -> _End | None:
    """Return the end at a call whose result a function returns as it is to a line that gives it a name."""
    text = flow.spelling.text(flow.events[row].source)
    for caller in flow.lines(row)[1:] if returns(text) else ():
        text = flow.spelling.text(caller)
        name = assigned(text) if calls_once(text) else ""
        if name or not returns(text):
            return _End(row, name, taken=caller) if name.strip("_") else None
    return None


def _kept_cut(flow: Flow, row: int) -> bool:
    """Whether a call cut a tensor off under a new name; wrappers of models detach parameters for their own ends."""
    event = flow.events[row]
    return event.kind == "cut" and any(event.data.get("output_names", ())) and not goes_on(flow, row)


def _overwritten(flow: Flow, row: int, name: str) -> int | None:
    """Return the call of the same function that assigned a name again before it was read."""
    source = flow.events[row].source
    for later in range(row + 1, len(flow.events)):
        event = flow.events[later]
        if name in event.data.get("output_names", ()) and _same_function(event.source, source):
            return later if event.source != source else None
    return None


def _same_function(one: SourceLine | None, other: SourceLine | None) -> bool:
    return one is not None and other is not None and (one.file, one.function) == (other.file, other.function)


def _source(flow: Flow, end: _End, leaf: int) -> SourceLine | None:
    """Return the line to blame."""
    if end.instead is not None:
        return flow.events[end.instead].source
    elsewhere = end.replaced if end.replaced is not None else end.copied
    if elsewhere is not None:
        return flow.events[elsewhere].source
    return end.taken or (flow.events[end.row].source if end.row is not None else flow.facts(leaf).source)


def _case_of_block(flow: Flow, block: Block) -> Case:
    """Return the case of a module that nothing calls."""
    run = next((run for run in reversed(flow.runs) if run.roots), None)
    names = [flow.name(leaf) for leaf in block.leaves]
    reducer = UNREDUCED in flow.error_text
    return Case(
        kind="unused-parameter",
        message=f"{block.name} is not reachable from {flow.root_name(run)} (unused): made{at(block.source)}, and no "
        f"forward computation uses any of its {len(names)} parameters ({listed(names)}).",
        remedy=f"use {block.name} in forward, or leave it out"
        + ("; or DistributedDataParallel(..., find_unused_parameters=True)" if reducer else ""),
        source=block.source,
        subjects=frozenset(block.leaves),
        severity="note" if not reducer and left_out_by_a_package(flow, block.leaves) else None,
        explains_error=reducer,
        evidence={"unused": names},
    )


def _case(flow: Flow, end: _End, leaves: list[int], source: SourceLine | None, failed: Run | None) -> Case:
    """Return the case of leaves that one line lost."""
    names = _called(leaves, [_shown(flow, leaf, failed) for leaf in leaves])
    run = failed or next((run for run in reversed(flow.runs) if run.roots), None)
    are, it = ("is", "it") if len(leaves) == 1 else ("are", "them")
    others = others_of(flow, leaves) if end.row is None else None
    alone = end == _End(looked_at=end.looked_at) and others is None
    again = used_again(flow, leaves[0], run) if alone else None
    if end.case is not None:
        lost = f"made{at(source)}, and used only{at(end.case)}, in a case that never occurred"
        remedy = f"nothing, if it may occur later; else see why the line{at(end.case)} is not reached"
    elif others is not None:
        lost, remedy = _left_out(others, source, names, it)
    elif again is not None:
        lost, remedy = _copied(flow, again, source, names, it)
    elif end.dropped is not None or made_by_a_package(flow, leaves):
        lost, remedy = _idle(flow, end, leaves, names, it)
    else:
        lost, remedy = _lost(flow, end, source, names, it)
    reducer = UNREDUCED in flow.error_text
    idle = failed is None and not reducer
    idle &= end.dropped is not None or end.case is not None or made_by_a_package(flow, leaves)
    if failed is not None:
        remedy += "; allow_unused=True gives None for it"
    elif reducer:
        remedy += "; or DistributedDataParallel(..., find_unused_parameters=True)"
    return Case(
        kind="unused-parameter",
        message=f"{names} {are} not reachable from {flow.root_name(run)} (unused): {lost}.",
        remedy=remedy,
        source=others.line if others is not None else again.line if again is not None else source,
        op=flow.events[end.row].op if end.row is not None else "",
        subjects=frozenset(leaves),
        severity="note" if idle else None,
        explains_error=failed is not None or reducer,
        evidence={"unused": [flow.name(leaf) for leaf in leaves]},
    )


def _lost(flow: Flow, end: _End, source: SourceLine | None, names: str, it: str) -> tuple[str, str]:
    """Say where the values of leaves ended, and the fix; ``it`` is the pronoun or name of the leaves."""
    if end.replaced is not None:
        module = flow.events[end.replaced].data.get("name")
        return (
            f"{module} is called{at(source)} with other tensors in place of {it}",
            f"call {module} with its own parameters: {module}(...), or with what follows from {it} without detach()",
        )
    if end.copied is not None:
        lost = f"a copy of {it}, made{at(source)}, is used instead: its leaves get the gradients"
        return lost, (
            "compute with what follows from the originals (torch.func.functional_call with p - rate * gradient), or "
            "add up the gradients of the copies in their .grad"
        )
    if end.looked_at is not None:
        only = flow.events[end.looked_at].source
        late = flow.run_after(end.looked_at) is None
        where = "only after the last backward pass" if late else "only where no gradients are recorded"
        return (
            f"made{at(source)}, and used {where}, first{at(only)}",
            f"use {it} in what backward() starts from as well, or leave {it} out of what is trained",
        )
    if end.row is None:
        return (
            f"created{at(source)} and never used in forward",
            f"use {names if it == 'it' else it} in forward, or leave {it} out",
        )
    made = end.taken or flow.events[end.row].source
    if end.instead is not None:
        return (
            f"the result {end.name}{at(made)} is overwritten{at(source)} before anything reads it",
            f"use {end.name} in {flow.spelling.text(source)!r}, or give one of the two another name",
        )
    result = end.name or f"the result of {flow.events[end.row].op}"
    return (
        f"{result}{at(made)} is computed from {it} and never used",
        f"use {result} in what follows, or leave it and its parameters out",
    )


def _idle(flow: Flow, end: _End, leaves: list[int], names: str, it: str) -> tuple[str, str]:
    """Say why leaves that may remain without a gradient have none, and what the user can do about it."""
    made = f"made{at(flow.facts(leaves[0]).source)}"
    if end.dropped is not None and end.row is not None:
        event = flow.events[end.row]
        lost = f"the result of {event.op}{at(event.source)} is computed from {it}, and dropped{at(end.dropped)}"
    elif end.row is not None:
        lost = f"{made}, and nothing uses the result of {flow.events[end.row].op} that is computed from {it}"
    else:
        lost = f"{made} and never used in forward"
    return lost, (
        f"nothing, if that is intended; .requires_grad_(False) on {names} makes that explicit to optimizers and to "
        "DistributedDataParallel, and an option of the package may leave it out"
    )


def _copied(flow: Flow, again: Again, made: SourceLine | None, names: str, it: str) -> tuple[str, str]:
    """Say that a line uses a sibling of some leaves twice, and the fix."""
    other = flow.name(again.leaf)
    return (
        f"made{at(made)}, and nothing in forward uses {it}, while {other} is used{at(again.first)} and{at(again.line)}",
        f"use {names}{at(again.line)}, or leave {it} out",
    )


def _left_out(others: Others, made: SourceLine | None, names: str, it: str) -> tuple[str, str]:
    """Say that a line uses everything made together with some leaves except these, and the fix."""
    takes = f"{'the loop' if others.loop else 'the statement'}{at(others.line)}"
    return (
        f"{takes} uses only the others that were made with {it}{at(made)}",
        f"let {takes} use {it if names[:1].isdigit() else names} as well, or leave {it} out",
    )


def _called(leaves: list[int], names: list[str]) -> str:
    """Return the names of leaves; if several share a loop variable, their number."""
    several = len(leaves) > 1 and len(set(names)) == 1
    return f"{len(leaves)} leaves called {names[0]}" if several else parameters(names)


def _shown(flow: Flow, leaf: int, failed: Run | None) -> str:
    """Return a leaf's name, with its place among the inputs that were asked for."""
    name = flow.name(leaf)
    return f"input {failed.inputs.index(leaf)} ({name})" if failed is not None and leaf in failed.inputs else name
