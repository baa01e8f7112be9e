"""Gradients that are used in a loss although they have no history: a penalty that is a constant."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.answers import answered_once
from ..facts.failures import run_without_graph
from ..facts.flow import Flow
from ..facts.lines import few_of_each_line
from ..facts.runs import Run
from ..facts.steps import TakenGradient, taken_gradients
from ..roles.trained import expected_gradients, updated_by_hand
from ..text.spelling import assigned
from ..text.words import at, named

KINDS = {
    "missing-create-graph": Kind("a gradient used in a loss has no history", "error", Stage.OMISSION),
}
_SUMMING = (Trait.LINEAR, Trait.SCALING)
"""Operators behind which a constant summand is still a constant summand."""
_MEASURING = (*_SUMMING, Trait.POWER, Trait.EVEN, Trait.DISTANCE)
"""Traits of operators that measure a residual."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose gradients enter a loss only as a constant.

    A gradient that depends on nothing that is trained is one by right: that of real data, which others are matched to.
    """
    by_hand = {leaf for leaf in flow.accumulated if updated_by_hand(flow, leaf)}
    trained = {*flow.optimized, *by_hand} or set(flow.accumulated)
    starving = expected_gradients(flow).keys() - flow.got_gradient
    reported: set[SourceLine | None] = set()
    for row, outputs in _gradients(flow):
        source = flow.events[row].source
        if source in reported:
            continue
        case = _case_of(flow, outputs, row)
        if case is None or not (case.explains_error or _depends_on(flow, trained, row)):
            case = _starving_case(flow, outputs, row, starving)
        if case is not None:
            reported.add(source)
            yield case
    yield from _unused_gradients(flow)


def _case_of(flow: Flow, gradients: list[int], row: int) -> Case | None:
    """Return the case of the first of some gradients that enters a loss only as a constant."""
    run = _constant_in(flow, gradients, row)
    if run is not None:
        alone = (one for one in gradients if _constant_in(flow, [one], row) is not None)
        return _case(flow, next(alone, gradients[0]), row, run)
    for tensor in gradients:
        updated = _first_order_update(flow, tensor, row)
        if updated is not None:
            return _update_case(flow, tensor, row, updated)
    return None


def _starving_case(flow: Flow, gradients: list[int], row: int, starving: set[int]) -> Case | None:
    """Return the case of leaves that could get a gradient only through these gradients, and never get one.

    As a learned learning rule, or the weights of examples: what is stepped along the gradient depends on them.
    """
    taken = flow.last_begun(row)
    through = set() if taken is None else starving & flow.leaves_behind(flow.reached_by(taken)) - set(taken.inputs)
    losses = [run for run in flow.runs if run.begin > row and run.accumulates and not run.error] if through else []
    for run in losses:
        used = [one for one in gradients if one in flow.values_behind(run).tensors]
        if used and through.isdisjoint(flow.reached_by(run).tensors):
            return _starved_case(flow, used[0], row, run, sorted(through))
    return None


def _starved_case(flow: Flow, gradient: int, row: int, run: Run, leaves: list[int]) -> Case:
    """Return the case of leaves that get no gradient because the one that depends on them has no history."""
    event = flow.events[row]
    names = named(flow, leaves)
    return Case(
        kind="missing-create-graph",
        message=f"{names} {'gets' if len(leaves) == 1 else 'get'} no gradient: {flow.root_name(run)} depends on "
        f"{'it' if len(leaves) == 1 else 'them'} only through {flow.name(gradient, event.source)}, a gradient taken"
        f"{at(event.source)} without create_graph=True, which has no history.",
        remedy=_with_graph(flow.spelling.text(event.source)),
        source=event.source,
        op="grad",
        subjects=frozenset({gradient, *leaves}),
    )


def _depends_on(flow: Flow, trained: set[int], row: int) -> bool:
    """Whether gradients that a call returned depend on trained leaves, or on other tensors than those requested."""
    run = flow.last_begun(row)
    leaves = flow.leaves_behind(flow.reached_by(run)) if run is not None else set()
    return run is None or bool(leaves & trained or leaves - set(run.inputs))


CHECK = Check("chain", KINDS, find)


def _gradients(flow: Flow) -> Iterator[tuple[int, list[int]]]:
    """Yield (row, gradients) for each call that returned gradients without history."""
    for row in few_of_each_line(flow, (row for row, _ in flow.of_kind("cut", reason="create_graph"))):
        yield row, list(flow.events[row].data.get("outputs", ()))


def _constant_in(flow: Flow, gradients: list[int], row: int) -> Run | None:
    """Return the run whose loss has a summand that depends on nothing but these gradients, which one call returned."""
    constants, todo = set(gradients), [(gradient, row) for gradient in gradients]
    residuals = _in_residuals(flow, gradients)
    while todo:
        tensor, since = todo.pop()
        for call in flow.used_in.get(tensor, ()):
            if call <= since:
                continue
            run = _joins(flow, call, constants, residuals)
            if run is not None:
                return run
            if not flow.has_node(call) and flow.events[call].kind == "operation":
                new = [made for made in flow.outputs(call) if made not in constants]
                constants.update(new)
                todo.extend((made, call) for made in new)
    begun = next((flow.runs_from[tensor][-1] for tensor in constants if tensor in flow.runs_from), None)
    untried = None if begun is not None else run_without_graph(flow)
    return begun if untried is None or constants.isdisjoint(untried.roots) else untried


def _first_order_update(flow: Flow, gradient: int, row: int) -> int | None:
    """Return the call that moves a trained leaf along its own gradient, by a trained step, within a later loss's graph.

    That loss then knows nothing of how the gradient depends on the leaf.  Who trains the size of an inner step means to
    differentiate through it; a step of fixed size may mean first order, as ``create_graph=False`` always does.
    """
    if "create_graph" in flow.spelling.text(flow.events[row].source):
        return None
    held = set(flow.optimized)
    asked = held.intersection(flow.events[row].data.get("inputs", ()))
    todo, seen = [(gradient, row, False)], set()
    while todo:
        tensor, since, trained = todo.pop()
        for call in flow.used_in.get(tensor, ()):
            moves = flow.does(call, Trait.ADDITION)
            if call <= since or call in seen or not flow.does(call, Trait.ADDITION, *_SUMMING):
                continue
            seen.add(call)
            if moves and trained and asked & set(flow.inputs(call)) and _trains(flow, call, asked):
                return call
            if not moves:
                todo.extend((made, call, trained or flow.has_node(call)) for made in flow.outputs(call))
    return None


def _trains(flow: Flow, call: int, leaves: set[int]) -> bool:
    """Whether gradients of a run go through a call to one of these leaves."""
    runs = [run for run in flow.runs if run.accumulates and run.begin > call and not run.error]
    return any(call in flow.reached_by(run).calls and leaves & flow.reached_by(run).tensors for run in runs)


@answered_once
def _sums(flow: Flow, *through: Trait) -> dict[int, Run]:
    """Return call -> the first pass whose root its result goes into, through operators with these traits alone."""
    found: dict[int, Run] = {}
    for run in flow.runs:
        for call in flow.behind(run.roots, run.begin, follow=lambda row: flow.does(row, *through)).calls:
            found.setdefault(call, run)
    return found


def _joins(flow: Flow, row: int, constants: set[int], residuals: set[int]) -> Run | None:
    """Return the pass whose loss this call adds a constant to: with a computed value, and linear from there on.

    Or measured, if the value is among ``residuals``.
    """
    if not flow.has_node(row) or not (flow.does(row, Trait.ADDITION) and flow.does(row, Trait.ELEMENTWISE)):
        return None
    others = [given for given in flow.inputs(row) if given not in constants]
    if not others or not all(flow.has_history(given, row) for given in others):
        return None
    return _sums(flow, *(_MEASURING if residuals.issuperset(others) else _SUMMING)).get(row)


def _in_residuals(flow: Flow, gradients: list[int]) -> set[int]:
    """Return what is computed of data that gradients are taken by: together they make a differential equation.

    Weights that inner steps made of trained ones are no data.
    """
    taken = [made for one in gradients for made in flow.made_in.get(one, ()) if flow.events[made].kind == "cut"]
    data = {given for made in taken for given in flow.events[made].data.get("inputs", ())}
    leaves = flow.leaves_behind(flow.behind(data, len(flow.events)))
    trained = not leaves.isdisjoint(flow.optimized) or any(flow.facts(one).parameter for one in leaves)
    return set() if trained else flow.descendants(data).tensors


def _update_case(flow: Flow, tensor: int, row: int, update: int | None) -> Case:
    """Return the case of an inner step whose gradient counts as a constant."""
    event, moved = flow.events[row], flow.events[update if update is not None else row]
    name = flow.name(tensor, event.source)
    leaves = named(flow, event.data.get("inputs", ()))
    return Case(
        kind="missing-create-graph",
        message=f"{name}, the gradient of {leaves} taken{at(event.source)} without create_graph=True, has no history, "
        f"so the step{at(moved.source)} counts it as a constant: the outer loss lacks all second-order terms.",
        remedy="torch.autograd.grad(..., create_graph=True); create_graph=False says that first order is meant",
        source=event.source,
        op="grad",
        subjects=frozenset({tensor}),
    )


def _case(flow: Flow, tensor: int, row: int, run: Run) -> Case:
    """Return the case of one gradient."""
    event = flow.events[row]
    line = flow.spelling.text(event.source)
    named = flow.spelling.has_name(tensor) or not assigned(line)
    name = flow.name(tensor, event.source) if named else assigned(line)  # of grad(...)[0]
    root = flow.root_name(run)
    return Case(
        kind="missing-create-graph",
        message=f"{name}, a gradient taken{at(event.source)} without create_graph=True, has no history, so what {root} "
        "gets from it is a constant that changes no gradient.",
        remedy=_with_graph(line),
        source=event.source,
        op="grad",
        subjects=frozenset({tensor}),
        explains_error=bool(run.error),
        marks=flow.marks(run, [], ""),
    )


def _with_graph(line: str) -> str:
    """Return a statement that computes a gradient, changed to give it a history."""
    fix = f"{line[:-1]}, create_graph=True)" if line.endswith(")") and "create_graph" not in line else ""
    return fix.replace(", retain_graph=True", "") or "torch.autograd.grad(..., create_graph=True)"


def _unused_gradients(flow: Flow) -> Iterator[Case]:
    """Yield a case for each backward, without create_graph, whose ``.grad`` enters another loss as a constant."""
    by_line: dict[SourceLine | None, list[TakenGradient]] = {}
    for taken in taken_gradients(flow):
        if not taken.made.began.get("create_graph") and not flow.has_history(taken.gradient, taken.row):
            by_line.setdefault(taken.made.source, []).append(taken)
    for all_taken in by_line.values():
        few = set(few_of_each_line(flow, {taken.row for taken in all_taken}))
        for taken in (one for one in all_taken if one.row in few):
            run = _constant_in(flow, [taken.gradient], taken.row - 1)
            if run is not None and taken.leaf not in run.roots:
                yield _taken_case(flow, taken, run, {one.leaf for one in all_taken})
                break


def _taken_case(flow: Flow, taken: TakenGradient, run: Run, leaves: set[int]) -> Case:
    """Return the case of a gradient that a call takes from ``.grad``."""
    made, source = taken.made, flow.events[taken.row].source
    name, root = flow.name(taken.leaf, source), flow.root_name(made)
    return Case(
        kind="missing-create-graph",
        message=f"{name}.grad, taken{at(source)}, comes from {root}.backward(){at(made.source)} without "
        f"create_graph=True and has no history, so what {flow.root_name(run)} gets from it is a constant that changes "
        "no gradient.",
        remedy=f"(grad,) = torch.autograd.grad({root}, {name}, create_graph=True) in place of {root}.backward(), and "
        f"grad in place of {name}.grad",
        source=made.source,
        op="backward",
        subjects=frozenset(leaves),
        explains_error=bool(run.error),
    )
