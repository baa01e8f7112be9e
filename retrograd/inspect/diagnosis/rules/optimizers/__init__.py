"""Optimizers that hold other tensors than the graph does."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ....program.places import SourceLine
from ...base import Case, Check, Kind, Stage
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.steps import optimizers_served, steps_with_runs, taken_gradients
from ...roles.trained import creation_row, is_born_parameter, made_since, updated_by_hand, used_gradients
from ...text.phrases import EMPTY_OPTIMIZER
from ...text.spelling import called
from ...text.words import at, counted, parameters
from ...thresholds import HABIT
from .empty import empty_case, empty_groups, twin_optimizers
from .forgotten_networks import forgotten, used_as_they_are
from .misgiven import misgiven

KINDS = {
    "optimizer-mismatch": Kind("optimizer and graph hold different parameters", "error", Stage.OMISSION),
}

_GIVE_ALL = "give it all parameters of the model that computes the loss: model.parameters()"


@dataclass(frozen=True, slots=True)
class _Mismatch:
    """Leaves with gradients that no optimizer uses, and what the optimizers hold."""

    missing: list[int]
    stale: list[int]
    """What the optimizer holds although no graph uses it."""
    unregistered: set[int]
    """What modules use without registering it."""
    optimizer: int
    """The row that made the optimizer whose steps they missed."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case when leaves get gradients that no optimizer uses, and something shows that one was to use them."""
    if EMPTY_OPTIMIZER in flow.error_text:
        yield empty_case(flow)
    yield from empty_groups(flow)
    held = flow.optimized
    if not held or not flow.optimizer_steps or not flow.accumulated:
        return
    strangers, taught = _unregistered(flow, held), _taught(flow, held)
    data = _coordinates(flow)
    used = used_gradients(flow)
    used = used | _exchanged(flow)
    others = [leaf for leaf in flow.accumulated if leaf not in held and leaf not in used]
    untrained = {leaf for leaf in others if _meant_to_train(flow, leaf, strangers, data)}
    if (twin := twin_optimizers(flow, untrained)) is not None:
        yield twin
        return
    copied = _copied(flow)
    missing = [leaf for leaf in taught if leaf in copied or leaf in untrained]
    if not missing:
        return
    served = optimizers_served(flow)
    optimizer = next((served[leaf] for leaf in missing if leaf in served), max(held.values()))
    mine = held_by(flow.events[optimizer])
    stale = [leaf for leaf in held if leaf in mine and leaf not in flow.got_gradient and not _used(flow, leaf)]
    late = _late(flow, missing) or _replaced(flow, missing)
    if stale or late or not strangers.isdisjoint(missing) or _share_a_module(flow, missing, held):
        yield _case(flow, _Mismatch(missing, stale, strangers, optimizer))
    elif (case := misgiven(flow, missing) or forgotten(flow, missing, set(held))) is not None:
        yield case


CHECK = Check("unused", KINDS, find)


def _copied(flow: Flow) -> set[int]:
    """Return the leaves that no step of an optimizer moves, nor the program, but whose unused copies one has."""
    steps = (held_by(flow.events[row]) for row in flow.optimizer_steps)
    stepped = set().union(*steps)
    found: set[int] = set()
    for leaf in stepped:
        if leaf not in flow.got_gradient and not flow.used_in.get(leaf):
            shape, behind = flow.facts(leaf).shape, flow.leading_to([leaf]).intersection(flow.accumulated) - stepped
            found.update(one for one in behind if flow.facts(one).shape == shape and not updated_by_hand(flow, one))
    return found


def _late(flow: Flow, missing: list[int]) -> bool:
    """Whether a leaf came to be after the optimizer that its gradients are for, and not to be used as it is."""
    served, settled = optimizers_served(flow), used_as_they_are(flow)
    return any(made_since(flow, [leaf], served[leaf]) for leaf in missing if leaf in served and leaf not in settled)


def _replaced(flow: Flow, missing: list[int]) -> bool:
    """Whether an optimizer steps on leaves that got gradients earlier, while as many others of equal shapes get them.

    As when a model is built anew from a checkpoint, and the optimizer still holds the one before.
    """
    served: set[int] = set()
    for event, runs in steps_with_runs(flow):
        stepped, reached = held_by(event), set().union(*map(flow.arrivals_in, runs))
        taught = reached.intersection(missing)
        vain = bool(taught) and stepped <= served and stepped.isdisjoint(reached)
        if vain and _shapes(flow, stepped) == _shapes(flow, taught):
            return True
        served |= reached
    return False


def _shapes(flow: Flow, leaves: set[int]) -> Counter[tuple[int, ...]]:
    return Counter(flow.facts(leaf).shape for leaf in leaves)


def _used(flow: Flow, leaf: int) -> bool:
    """Whether a call of a graph took a leaf; its initialisation does not count."""
    return any(flow.has_node(row) for row in flow.used_in.get(leaf, ()))


def _runs(flow: Flow, leaf: int) -> bool:
    """Whether a copy is used too, as by a teacher: then it was made on purpose."""
    return any(flow.run_after(row) is not None for row in flow.used_in.get(leaf, ()) if row > creation_row(flow, leaf))


def _unregistered(flow: Flow, held: dict[int, int]) -> set[int]:
    """Return what modules whose parameters an optimizer has use without registering it."""
    found: set[int] = set()
    registered = set().union(*(held_by(event) for _, event in flow.of_kind("module")))
    others = [leaf for leaf in flow.accumulated if leaf not in registered and _is_born_before_use(flow, leaf)]
    for _, event in flow.of_kind("module"):
        if held_by(event) & held.keys():
            found |= set(event.data.get("unregistered", {}).values())
            scope = str(event.data.get("scope", event.data.get("name", "")))
            found |= {leaf for leaf in others if _used_within(flow, leaf, scope)}
    return found


def _is_born_before_use(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was made a parameter before the first backward pass, and not for the first step alone."""
    arrivals, steps = flow.accumulated[leaf], flow.optimizer_steps
    once = len(steps) >= HABIT and not flow.stepped_between(arrivals[0], arrivals[-1])
    return not once and is_born_parameter(flow, leaf) and creation_row(flow, leaf) < flow.runs[0].begin


def _used_within(flow: Flow, leaf: int, module: str) -> bool:
    """Whether a module's call uses a leaf in a graph; what comes after the last loss only reads it.

    What a checkpoint computes again, in a backward pass, is in no call of the module.
    """
    used = [row for row in flow.used_in.get(leaf, ()) if flow.has_node(row) and row < flow.runs[-1].begin]
    scopes = [data.get("scope", "") for row in used if "run" not in (data := flow.events[row].data)]
    return bool(module and scopes) and all(scope.split("/")[0] == module for scope in scopes)


def _taught(flow: Flow, held: dict[int, int]) -> list[int]:
    """Return the leaves whose gradients are meant for training: a step follows for them.

    It is if the same backward pass serves what an optimizer holds, or if nothing else serves the step.  What
    another network gets on the way, as a copy that is asked for derivatives, or when the training is over, is not.
    """
    found: set[int] = set()
    for event, runs in steps_with_runs(flow):
        reached = [flow.arrivals_in(run).keys() for run in runs]
        stepped = held_by(event)
        vain = flow.ledger.given_by_hand.union(*reached).isdisjoint(stepped)
        found.update(*(leaves for leaves in reached if vain or not leaves.isdisjoint(held)))
    return [leaf for leaf in flow.accumulated if leaf in found]


def _meant_to_train(flow: Flow, leaf: int, strangers: set[int], data: set[int]) -> bool:
    """Whether a leaf with gradients is a parameter, or a module's own, and not updated manually."""
    own = flow.facts(leaf).parameter or leaf in strangers or (leaf not in data and _goes_on(flow, leaf))
    return own and not updated_by_hand(flow, leaf)


def _coordinates(flow: Flow) -> set[int]:
    """Return what derivatives are taken with respect to inside a loss, such as coordinates: data."""
    asked = (run.inputs for run in flow.runs if run.began.get("create_graph"))
    taken = {one.leaf for one in taken_gradients(flow) if one.made.began.get("create_graph")}
    return taken.union(*asked)


def _exchanged(flow: Flow) -> set[int]:
    """Return tensors that processes sent each other and that are not parameters: gradients are sent back."""
    given = (tensor for _, event in flow.of_kind("collective") for tensor in event.data.get("inputs", ()))
    memories = {flow.facts(tensor).storage for tensor in given if not flow.facts(tensor).parameter} - {None}
    return {leaf for leaf in flow.accumulated if flow.facts(leaf).storage in memories}


def _goes_on(flow: Flow, leaf: int) -> bool:
    """Whether a leaf outside any module receives gradients in several steps, as only trained ones do."""
    arrivals = flow.accumulated[leaf]
    trained = flow.optimizer_steps[-1] > arrivals[0]  # what only gets gradients after the training is inspected
    return trained and flow.spelling.has_name(leaf) and flow.stepped_between(arrivals[0], arrivals[-1])


def _share_a_module(flow: Flow, missing: list[int], held: dict[int, int]) -> bool:
    """Whether one module holds parameters of both sorts."""
    for _, event in flow.of_kind("module"):
        own = held_by(event)
        if own & set(missing) and own & set(held):
            return True
    return False


def _case(flow: Flow, mismatch: _Mismatch) -> Case:
    """Return the case of leaves that an optimizer should hold."""
    missing, stale = mismatch.missing, mismatch.stale
    optimizer = flow.events[mismatch.optimizer]
    source, why, remedy = _cause(flow, mismatch)
    verbs = ("gets a gradient", "was") if len(missing) == 1 else ("get gradients", "were")
    return Case(
        kind="optimizer-mismatch",
        message=f"{parameters(map(flow.name, missing))} {verbs[0]} but {verbs[1]} not passed to the optimizer "
        f"created{at(optimizer.source)}{why}{_dead_words(stale)}.",
        remedy=remedy,
        source=source,
        op=optimizer.data.get("type", ""),
        subjects=frozenset([*missing, *stale]),
        evidence={"missing": [flow.name(leaf) for leaf in missing], "stale": [flow.name(leaf) for leaf in stale]},
    )


def _cause(flow: Flow, mismatch: _Mismatch) -> tuple[SourceLine | None, str, str]:
    """Return the line of the cause, what is wrong there, and the fix."""
    missing, optimizer = mismatch.missing, flow.events[mismatch.optimizer].source
    idle = [leaf for leaf in mismatch.stale if not _runs(flow, leaf)]
    copies = [leaf for leaf in idle if not flow.leading_to([leaf]).isdisjoint(missing)]
    it, a_copy = ("it", "a copy") if len(missing) == 1 else ("them", "copies")
    they_were = "it was" if len(missing) == 1 else "they were"
    if copies:
        source = _line_of(flow, copies) or optimizer
        return source, f": it holds {a_copy} made{at(source)}", "give it the parameters themselves: model.parameters()"
    if _was_forgotten(flow, mismatch):
        return optimizer, "", _GIVE_ALL
    made = _own_line(flow, missing, outermost=not mismatch.unregistered.isdisjoint(missing))
    if made is None and mismatch.unregistered.isdisjoint(missing):  # as copies, of which no call was recorded
        return optimizer, "", _GIVE_ALL
    source = made or optimizer
    if mismatch.unregistered >= set(missing):
        remedy = "use torch.nn.ModuleList or ModuleDict in place of a list or dict (ParameterList or ParameterDict for "
        remedy += "parameters), torch.nn.Parameter for a tensor"
        return source, f": {they_were} made{at(source)}, and no module registers {it}", remedy
    if _puts_in_place(flow, source):
        why = f", and{at(source)} load_state_dict(assign=True) put others in the place of those it has"
        return (
            source,
            why,
            "load the state before the optimizer is made; or without assign=True, which copies the values",
        )
    remedy = "build the optimizer after the model has all its parameters, or optimizer.add_param_group(...)"
    return source, f", which was there before {they_were} made{at(source)}", remedy


def _puts_in_place(flow: Flow, source: SourceLine | None) -> bool:
    """Whether a line loads a state by putting its tensors in the place of the parameters."""
    tree = flow.spelling.statement(source)
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)] if tree is not None else []
    given = [word for one in calls if called(one) == "load_state_dict" for word in one.keywords if word.arg == "assign"]
    return any(not isinstance(word.value, ast.Constant) or bool(word.value.value) for word in given)


def _was_forgotten(flow: Flow, mismatch: _Mismatch) -> bool:
    """Whether the missing leaves existed, registered in modules, when the last optimizer was made."""
    if not mismatch.unregistered.isdisjoint(mismatch.missing):
        return False
    earliest = 0 if mismatch.stale else -1  # a row of -1 is unknown: beside stale tensors it may have been made since
    return all(earliest <= creation_row(flow, leaf) < mismatch.optimizer for leaf in mismatch.missing)


def _dead_words(stale: list[int]) -> str:
    """Return what to add about tensors that an optimizer needlessly holds."""
    if not stale:
        return ""
    return f"; {counted(len(stale), 'tensor')} of that optimizer {'is' if len(stale) == 1 else 'are'} in no graph"


def _own_line(flow: Flow, missing: list[int], *, outermost: bool) -> SourceLine | None:
    """Return the innermost line that made a missing leaf and nothing that an optimizer holds, or the outermost one.

    The line of a function that builds networks, called for both, says less than who called it again; and what no
    module registers was put into a list by the line around all those within the parts of it.
    """
    held = {line for leaf in flow.optimized for line in _lines(flow, leaf)}
    lines = next((lines for leaf in missing if (lines := _lines(flow, leaf))), [])
    own = [line for line in lines if line not in held]
    called = [leaf for leaf in missing if flow.facts(leaf).made_by is not None]  # the rest came with a copied module
    return own[-1 if outermost else 0] if own else _line_of(flow, called)


def _lines(flow: Flow, leaf: int) -> list[SourceLine]:
    """Return the user's lines on the stack when a leaf was made or first filled, innermost first."""
    made = flow.facts(leaf).made_by
    rows = [*([] if made is None else [made]), *flow.writes_into(leaf)[:1]]  # the stack is kept of writes
    return max((flow.lines(row) for row in rows), key=len, default=[])


def _line_of(flow: Flow, leaves: list[int]) -> SourceLine | None:
    """Return the line that made the leaves."""
    return next((flow.facts(leaf).source for leaf in leaves if flow.facts(leaf).source), None)
