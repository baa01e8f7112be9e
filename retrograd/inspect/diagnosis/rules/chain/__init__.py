"""Chains from the loss to a leaf that are cut: by leaving the graph, or by an operation without a derivative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ....operators import Trait
from ....operators.collectives import is_collective
from ....program.places import SourceLine
from ...base import Case, Check, Kind, Stage
from ...facts.failures import run_without_graph
from ...facts.flow import Flow
from ...facts.lines import answer_per_leaf, made_inside
from ...facts.runs import Run
from ...facts.steps import cuts_between, is_stepped_for
from ...queries.detached_values import number_cut, returned_cut, value_cut
from ...roles.trained import expected_gradients, held_for_others, trained_then_frozen, without_any_grad
from ...text.phrases import UNUSED
from ...text.words import at, counted, operator_word, parameters
from .cut_words import (
    NO_DERIVATIVE,
    cause_of,
    is_rebound_step,
    not_simply_attached,
    remedy_of,
    replacing_hook,
    what_cut,
)
from .functions import lost_in_functions, zeros_of_functions, zeros_on_a_path
from .other_ways import other_ways

KINDS = {
    "broken-chain": Kind(
        "a tensor left the graph (`detach`, `item`, `numpy`, a `torch.tensor` copy, `no_grad`, reentrant checkpoint)",
        "error",
        Stage.STATEMENT,
    ),
    "nondifferentiable": Kind(
        "an operation without derivative (`argmax`, a cast to integers, a comparison) ends the graph",
        "error",
        Stage.STATEMENT,
    ),
}
_COPIES = (Trait.COPY, Trait.CAST, Trait.READING)
"""Traits of operators that return the values of their operand."""
_OTHERS = ("create_graph", "deepcopy")
"""Reasons that other checks explain."""


@dataclass(slots=True)
class _Cut:
    """One line that cuts, with the leaves behind it."""

    row: int
    way: list[int]
    leaves: list[int] = field(default_factory=list)
    against: str = ""
    """Why it may be meant."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that cuts off a leaf whose gradient is wanted."""
    failed, idle = run_without_graph(flow), without_any_grad(flow)
    cuts: dict[tuple[SourceLine | None, str, str], _Cut] = {}
    uncut: list[int] = []
    for leaf, found in answer_per_leaf(
        flow, _without_gradient(flow, failed, idle), lambda leaf: _cut_of(flow, leaf, failed, steps=leaf in idle)
    ):
        if found is not None:
            event = flow.events[found.row]
            place = cause_of(flow, found.row).line, event.data.get("reason", ""), found.against
            cuts.setdefault(place, found).leaves.append(leaf)
        else:
            uncut.append(leaf)
    if failed is None:
        yield from lost_in_functions(flow, _paths_of(flow, uncut))
        yield from zeros_of_functions(flow)
        yield from zeros_on_a_path(flow)
    others = list(other_ways(flow)) if failed is None else []
    yield from (case for case in others if case.subjects)  # what came back as a constant was not meant to
    last = [cut for cut in cuts.values() if not _goes_on(flow, cut)] if failed is not None else []
    for cut in last or cuts.values():
        yield _case(flow, cut, failed or _refusing(flow, cut.leaves[0]))
    if all(cut.against for cut in cuts.values()):
        yield from _copied_losses(flow)
        yield from (case for case in others if not case.subjects)


CHECK = Check("chain", KINDS, find)


def _paths_of(flow: Flow, leaves: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield leaves that an optimizer has and whose values reach a loss, each with a path."""
    runs = [run for run in flow.runs if not run.nested and not run.error and run.accumulates]
    for leaf in leaves:
        way = _path_in_last_step(flow, leaf, runs) if leaf in flow.optimized and leaf not in flow.got_gradient else None
        if way is not None:
            yield leaf, way


def _goes_on(flow: Flow, cut: _Cut) -> bool:
    """Whether there is history again behind a cut: then another one cuts off the loss."""
    return cut.row in cut.way and any(map(flow.has_node, cut.way[cut.way.index(cut.row) + 1 :]))


def _copied_losses(flow: Flow) -> Iterator[Case]:
    """Yield the case of a loss that is a new leaf made of another one's values, in some steps only.

    A constant used as the loss of an empty batch is made of nothing.
    """
    trained = sorted(expected_gradients(flow))
    for run in flow.runs:
        copied = run.accumulates and not run.inputs and run.roots and all(map(flow.is_leaf, run.roots))
        behind = {leaf: value_cut(flow, leaf, [run]) for leaf in trained} if copied else {}
        rows = {row for row in behind.values() if row is not None}
        if rows:
            row = min(rows)
            yield _case(flow, _Cut(row, [row], [leaf for leaf in trained if behind[leaf] == row]), None, run)
            return


def _without_gradient(flow: Flow, failed: Run | None, idle: set[int]) -> list[int]:
    """Return the leaves to ask about: wanted ones without gradient, or all behind a loss without a graph."""
    if failed is not None and trained_then_frozen(flow, failed):  # the other leaves might have been served by it
        return []
    refused = [flow.reached_by(run) for run in flow.runs if run.error and run is not failed]  # would have given some
    wanted = {flow.leaf_itself(leaf) for leaf in expected_gradients(flow)} - held_for_others(flow)
    wanted -= set().union(*(one.tensors for one in refused))
    leaves = [leaf for leaf in sorted(wanted) if leaf not in flow.got_gradient or leaf in idle]
    if failed is not None:
        behind = flow.behind(failed.roots, failed.begin, gradients=False)
        found = {flow.leaf_itself(leaf) for leaf in flow.leaves_behind(behind)}
        leaves += sorted(leaf for leaf in found if flow.requires_grad(leaf, failed.begin))
    return list(dict.fromkeys(leaves))


def _cut_of(flow: Flow, leaf: int, failed: Run | None, *, steps: bool) -> _Cut | None:
    """Return where the values of a leaf left the graph on their path to a loss.

    ``steps``: an optimizer steps it and never finds a gradient, so it is a loss that fills ``.grad`` which was meant.
    """
    refused = failed or _refusing(flow, leaf)
    runs = [refused] if refused else [run for run in flow.runs if not run.nested and not run.error]
    runs = [run for run in runs if run.accumulates or not steps] or runs
    runs = [run for run in runs if is_stepped_for(flow, run, leaf)] or runs
    way = _path_in_last_step(flow, leaf, runs)
    if way is None or _through_a_step(flow, way):
        row = value_cut(flow, leaf, runs) or number_cut(flow, leaf, runs)
        return None if row is None else _Cut(row, [row])
    row = next((call for call in way if _ends_here(flow, way, call) and not _inside_function(flow, call)), None)
    if row is None or flow.events[row].data.get("reason") in _OTHERS or _follows_rule(flow, row):
        return None
    if any(is_collective(flow.events[call].op) for call in way[: way.index(row) + 1]):
        return None  # what was received has no history: another check explains it
    against = _against(flow, leaf, way, row)
    if against:
        return _Cut(row, way, against=against)
    if _looks_meant(flow, row) and leaf not in flow.got_gradient:
        others = list(_other_cuts(flow, leaf, row, runs))
        if any(flow.events[other].data.get("reason") in _OTHERS for other in others):
            return None
        if _is_target(flow, row) and (other := next((one for one in others if not _is_target(flow, one)), None)):
            return _Cut(other, [other, way[-1]])
    if flow.events[row].data.get("reason") == "detach" and (back := returned_cut(flow, leaf, runs)) is not None:
        return _Cut(back, [back])  # the way that was meant: what is detached on another is held fixed on purpose
    return _Cut(row, way)


def _refusing(flow: Flow, leaf: int) -> Run | None:
    """Return the run that was asked for the gradient of a leaf and refused, for its graph does not have it."""
    return next((run for run in flow.runs_asking.get(leaf, ()) if UNUSED in run.error), None)


def _looks_meant(flow: Flow, row: int) -> bool:
    """Whether a call was written to leave the graph, or is made while gradients are off."""
    event = flow.events[row]
    return event.data.get("reason") in ("detach", "data") or event.data.get("grad") is False


def _other_cuts(flow: Flow, leaf: int, row: int, runs: list[Run]) -> Iterator[int]:
    """Yield the other cuts that end a path from a leaf to a loss, in the last step of each line that runs backward."""
    for run in {run.source: run for run in runs}.values():
        since = max((other.end for other in flow.runs if other.end < run.begin and other.accumulates), default=-1)
        behind = flow.values_behind(run).calls
        for cut in cuts_between(flow, since, run.begin):
            if cut != row and cut in behind and leaf in _behind_cut(flow, cut):
                yield cut


def _behind_cut(flow: Flow, row: int) -> set[int]:
    """Return what would have got gradients through a cut, nothing if none arrive there either."""
    if flow.events[row].data.get("reason") in _OTHERS:
        run = flow.last_begun(row)
        return set() if run is None else flow.reached_by(run).tensors
    taken = any(flow.has_node(call) for out in flow.outputs(row) for call in flow.used_in.get(out, ()))
    return flow.behind(flow.inputs(row), row).tensors if taken else set()


def _is_target(flow: Flow, row: int) -> bool:
    """Whether the result of a cut is only compared with something that has a history, as a target."""
    made = flow.outputs(row)
    takers = [call for out in made for call in flow.used_in.get(out, ())]
    return bool(takers) and all(
        flow.does(call, Trait.LOSS, Trait.DISTANCE)
        and any(flow.has_history(one, call) for one in flow.inputs(call) if one not in made)
        for call in takers
    )


def _against(flow: Flow, leaf: int, way: list[int], row: int) -> str:
    """Return evidence that a cut is intended, "" if there is none."""
    if _fills_another(flow, way, row):
        return "what is cut off gives another leaf its values, on a line that does so for leaves that train"
    if leaf not in flow.got_gradient and _succeeded(flow, leaf, row):
        return "what was cut off became a leaf that trains in its place"
    return ""


def _path_in_last_step(flow: Flow, leaf: int, runs: list[Run]) -> list[int] | None:
    """Return a shortest path from a leaf to a loss, within the last step if there is one.

    What was cut once before the steps, as old probabilities and targets are, is a constant to all of them.
    """
    last, earlier = runs[-1:], runs[-2:-1]
    way = None
    for run, before in zip(last, earlier, strict=False):
        way = flow.path_to(leaf, set(run.roots), after=before.end, before=run.begin)
    roots = {root for run in runs for root in run.roots}
    return way or flow.path_to(leaf, roots, before=max((run.begin for run in runs), default=None))


def _through_a_step(flow: Flow, way: list[int]) -> bool:
    """Whether values were passed on by an optimizer's step, as by one that calls closures."""
    steps = {flow.events[row].source for row in flow.optimizer_steps}
    return any(flow.events[row].source in steps and flow.events[row].data.get("grad") is False for row in way)


def _fills_another(flow: Flow, way: list[int], row: int) -> bool:
    """Whether a cut gave another leaf its values, on a line that does so with what gets gradients, too.

    As ``load_state_dict`` of a network that trains by itself: the copy goes its own way, and nothing was to come back.
    """
    filled = [flow.target(call) for call in way[way.index(row) :] if not flow.has_node(call)]
    if not any(one is not None and flow.is_leaf(one) and flow.requires_grad(one) for one in filled):
        return False
    beside = flow.made_at(flow.events[row].source, flow.events[row].op)
    return any(flow.got_gradient.intersection(flow.inputs(call)) - {flow.target(call)} for call in beside)


def _succeeded(flow: Flow, leaf: int, row: int) -> bool:
    """Whether the result of a cut became a leaf that is trained in place of the old one: see ``optimizers``.

    One of the same name does, and so does any one if the old leaf was nothing but its first value, or if it was made
    before the training for an optimizer that was there already, as of a table that grows.
    """
    if any(read > row for read in flow.reads_of.get(leaf, ())):  # its own gradient is asked for still
        return False
    made = flow.descendants(flow.outputs(row), row, lambda call: not flow.has_node(call)).tensors
    fresh = [t for t in made if flow.is_leaf(t) and t in flow.accumulated and _declared(flow, t, row)]
    if fresh and leaf not in flow.optimized and not flow.facts(leaf).parameter and _only_copied(flow, leaf, row):
        return True
    if fresh and flow.optimized.get(leaf, row) < row < flow.runs[0].begin:
        return True
    return any(_places(flow, t) & _places(flow, leaf) for t in fresh)


def _declared(flow: Flow, leaf: int, after: int) -> bool:
    """Whether the program made a leaf of a computed value, after an event."""
    facts = flow.facts(leaf)
    return (leaf, "requires_grad") in flow.leaf_events or (facts.parameter and (facts.made_by or -1) > after)


def _only_copied(flow: Flow, leaf: int, row: int) -> bool:
    """Whether all that was ever done with a leaf is to copy it, at the line of a cut."""
    known, rows = {leaf}, [one for one in flow.used_in.get(leaf, ()) if one <= row]
    for one in range(rows[0], row) if rows else ():
        if flow.does(one, *_COPIES) and known.intersection(flow.inputs(one)):
            known.update(flow.outputs(one))
    taken = {one for tensor in known for one in flow.used_in.get(tensor, ())}
    return bool(rows) and all(one == row or flow.does(one, *_COPIES) for one in taken)


def _places(flow: Flow, leaf: int) -> set[str]:
    """Return the names of a leaf, normalised so that ``net[0]`` and ``net.0`` are equal."""
    return {name.replace("[", ".").replace("]", "") for name in {*flow.spelling.names(leaf), flow.name(leaf)}}


def _follows_rule(flow: Flow, row: int) -> bool:
    """Whether a call uses a gradient that a custom Function's backward returned without history: reported there."""
    makers = [made for given in flow.inputs(row) for made in flow.made_in.get(given, ())]
    taken = [made for made in makers if flow.is_gradient(made)]
    if not taken:
        return False
    ran = (flow.last_begun(rule) for rule, _ in flow.of_kind("function", action="backward"))
    return any(run is not None and run.end < max(taken) for run in ran)


def _ends_here(flow: Flow, way: list[int], row: int) -> bool:
    """Whether gradients end at a call of a path: it made no node, or returned indices besides its values.

    A view of a leaf requires gradients as the leaf does, also where none are recorded: what takes it there is the end.
    """
    following = way[way.index(row) + 1 :]
    taken = set(flow.outputs(row)) & set(flow.inputs(following[0])) if following else set()
    if not flow.has_node(row):
        return not following or flow.has_node(following[0]) or all(flow.leaf_itself(one) == one for one in taken)
    return bool(taken) and all(flow.facts(tensor).dtype.startswith(("int", "uint", "bool")) for tensor in taken)


def _inside_function(flow: Flow, row: int) -> bool:
    """Whether a call belongs to the forward of a custom Function, which by design records no graph."""
    forwards = flow.of_kind("function", action="forward")
    return any(later > row and made_inside(flow, row, event, "forward") for later, event in forwards)


def _inside_rule(flow: Flow, row: int) -> bool:
    """Whether a call belongs to the backward of a custom Function, for which there is another check."""
    return any(made_inside(flow, row, event, "backward") for _, event in flow.of_kind("function", action="forward"))


def _case(flow: Flow, cut: _Cut, failed: Run | None, late: Run | None = None) -> Case:
    """Return the case of one line that cuts; ``late``: in that run, though not in all."""
    event = flow.events[cut.row]
    cause = cause_of(flow, cut.row)
    reason = event.data.get("reason") or ("copy" if flow.does(cut.row, Trait.ENTERING) else "")
    reason = reason or ("nondifferentiable" if flow.has_node(cut.row) else "")  # positions that topk or sort gives
    reason = reason or ("no_grad" if event.data.get("grad") is False else "")
    run = failed or late or next((run for run in flow.runs if set(run.roots) & _ends(flow, cut)), None)
    leaves = parameters(map(flow.name, cut.leaves))
    ending = "s" if len(cut.leaves) == 1 else ""
    root = flow.root_name(run)
    when = "" if late is None else f" in some of the steps, as by backward{at(late.source)}"
    return Case(
        kind="nondifferentiable" if reason in NO_DERIVATIVE else "broken-chain",
        message=f"{leaves} get{ending} no gradient{when}: {what_cut(flow, cut.row, cause, root, reason)}.",
        remedy=remedy_of(flow, cut.row, reason, cause),
        source=cause.line,
        op=event.op,
        severity="warning" if _inside_rule(flow, cut.row) else None,
        subjects=frozenset(cut.leaves),
        because=_because(flow, cut, root),
        against=cut.against,
        explains_error=failed is not None and bool(failed.error) and not _lacks_create_graph(flow, failed),
        marks=_marks(flow, cut, run, operator_word(event.op)),
        evidence={
            "leaves": [flow.name(leaf) for leaf in cut.leaves],
            "reason": reason,
            "path": _path(flow, cut.way),
            "hook": replacing_hook(flow, cut.row) is not None,
            "step": event.source.line if event.source is not None and is_rebound_step(flow, cut.row) else 0,
            "stays": reason in ("detach", "data") and bool(not_simply_attached(flow, cut.row)),
        },
    )


_REASONS = {
    "optimizer": "an optimizer has them",
    "asked": "autograd.grad was asked for their gradient",
    "read": "the program reads their .grad",
    "used": "no optimizer shows what is trained, and they were used while gradients were recorded",
}
"""Why a gradient is expected, by the reasons of ``expected_gradients``."""


def _because(flow: Flow, cut: _Cut, root: str) -> tuple[str, ...]:
    """Return the evidence that a cut is the cause."""
    wanted = {why for leaf, why in expected_gradients(flow).items() if leaf in cut.leaves}
    event = flow.events[cut.row]
    way = f"their values reach {root} by {counted(len(cut.way), 'call')}, of which {event.op}{at(event.source)}"
    return (*(_REASONS[why] for why in sorted(wanted)), f"{way} is the first without a node")


def _lacks_create_graph(flow: Flow, failed: Run) -> bool:
    """Whether a gradient without history is in a loss without any: that is a missing ``create_graph``."""
    behind = flow.behind(failed.roots, failed.begin, gradients=False).calls
    return any(flow.events[row].data.get("reason") == "create_graph" for row in behind)


def _ends(flow: Flow, cut: _Cut) -> set[int]:
    return set(flow.outputs(cut.way[-1]))


def _marks(flow: Flow, cut: _Cut, run: Run | None, word: str) -> tuple:  # type: ignore[type-arg]
    """Mark the node that used what was cut off, with a dashed edge."""
    after = cut.way[cut.way.index(cut.row) + 1 :]
    taker = next((row for row in after if flow.has_node(row)), None)
    return () if taker is None else flow.marks(run, [taker], ghost=f"cut by {word}")


def _path(flow: Flow, way: list[int]) -> list[str]:
    """Return the calls of a path as text."""
    return [f"{flow.events[row].op}{at(flow.events[row].source)}" for row in way]
