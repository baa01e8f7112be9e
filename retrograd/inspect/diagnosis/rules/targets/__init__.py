"""Gradients that flow into a target, which a prediction is compared with and which it should not train."""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait
from ...base import Case, Check, Kind, Stage
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...facts.lines import few_of_each_line
from ...facts.runs import Run
from ...queries.dependence import Dependence
from ...queries.distance import counts_by_size, is_comparison, is_regression
from ...roles.compared import (
    alike,
    are_neighbours,
    comes_next,
    given_to,
    is_likeness,
    only_draws_together,
    place_of,
    steps_of,
    takes_itself_as_target,
    takes_probabilities,
    teaches_its_reader,
)
from ...text.spelling import is_call, is_name
from ...text.words import at, named
from .learned_weights import weighing_errors

KINDS = {"missing-detach": Kind("gradient flows through a target", "warning", Stage.OMISSION)}
_MATCHING = (Trait.PRODUCT, Trait.LIKENESS)
"""Traits of operators that measure similarity, among other uses."""
_TRAINED, _OTHER = 1, 2
"""Sorts of leaves."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that compares a prediction with a target which gradients flow into."""
    reported = set()
    held = _trained(flow)
    data = _coordinates(flow) - held
    depends = Dependence(flow, lambda leaf: 0 if leaf in data else _TRAINED if leaf in held else _OTHER)
    known = bool(flow.optimized)  # which leaves are trained; a read of some .grad shows less
    for runs, calls in steps_of(flow):
        for run in runs:
            compared = (row for row in flow.reached_by(run).calls if _compares_results(flow, row))
            for row in few_of_each_line(flow, compared):
                event = flow.events[row]
                if event.source in reported:
                    continue
                target = _target(flow, row, depends, calls, known=known)
                if target is not None:
                    reported.add(event.source)
                    yield _case(flow, row, target, run)
    yield from weighing_errors(flow)


CHECK = Check("mode", KINDS, find)


def _compares_results(flow: Flow, row: int) -> bool:
    """Whether a call compares two tensors that both have a history."""
    compares = flow.does(row, Trait.DIFFERENCE, *_MATCHING) or is_regression(flow, row)
    if not compares and not takes_probabilities(flow, row):
        return False
    operands = flow.inputs(row)[:2]
    return len(operands) == 2 and all(flow.has_history(given, row) for given in operands)


def _target(flow: Flow, row: int, depends: Dependence, calls: set[int], *, known: bool) -> int | None:
    """Return the operand of a comparison that is a target and has a history; ``calls`` are those of its step."""
    operands = flow.inputs(row)[:2]
    labels = takes_probabilities(flow, row) and not flow.does(row, Trait.DIVERGENCE)  # whose sides may both be constant
    for target, prediction in (operands[::-1],) if labels else (operands[::-1], operands):
        other = _of_another_network(flow, depends, target, prediction, row)
        if flow.does(row, *_MATCHING):
            found = known and other and _has_a_twin(flow, target, row)
        else:
            found = other and (known or _has_a_twin(flow, target, row))
            found = found or _bootstraps(flow, target, prediction, row, calls)
        if found or any(is_wrong(flow, target, prediction, row, calls) for is_wrong in _MEANINGS):
            return target
    return None


def _is_collapsing(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether a loss of likenesses or distances alone trains both sides of one."""
    near = is_likeness(flow, row) or is_comparison(flow, row)
    return near and only_draws_together(flow, target, prediction, row, calls)


_MEANINGS = (_is_collapsing, takes_itself_as_target, teaches_its_reader)
"""Reasons why an operand of a comparison is a target, whatever kind of comparison it is."""


def _bootstraps(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether a target is data plus a scaled value of the same parameters, computed likewise from other inputs."""
    value, added = _value_in(flow, target, row)
    if value is None or value == prediction or are_neighbours(flow, value, prediction, row, calls):
        return False
    mine, theirs = flow.behind([prediction], row), flow.behind([value], row)
    leaves = flow.leaves_behind(mine)
    same = _of_the_same(flow, value, leaves, flow.leaves_behind(theirs), row)
    by_size = not flow.does(row, Trait.DIFFERENCE) or counts_by_size(flow, row)
    if leaves and same and comes_next(flow, value, prediction, row):
        return by_size
    if not leaves or not same or mine.calls & theirs.calls:
        return False
    if added is not None and place_of(flow, added) in {place_of(flow, call) for call in mine.calls}:
        return False  # the prediction is made by the same addition: that is how outputs are scaled
    return by_size and alike(flow, mine, theirs, leaves)


def _of_the_same(flow: Flow, value: int, leaves: set[int], behind: set[int], row: int) -> bool:
    """Whether a value depends on the leaves of a prediction, and only on what selected for it, such as an actor."""
    if leaves == behind or not leaves < behind:
        return leaves == behind
    return _of_several(flow, value, row) or behind - leaves <= _of_other_optimizers(flow, leaves)


def _of_other_optimizers(flow: Flow, leaves: set[int]) -> set[int]:
    """Return the parameters of optimizers without these leaves."""
    held = (held_by(event) for _, event in flow.of_kind("optimizer", action="made"))
    return set().union(*(own for own in held if own.isdisjoint(leaves)))


def _of_several(flow: Flow, value: int, row: int) -> bool:
    """Whether a value is the smaller, or the larger, of those of several networks."""
    made = flow.last_producer(value, row, gradients=True)
    return made is not None and flow.does(made, Trait.EXTREME) and len(flow.inputs(made)) > 1


def _value_in(flow: Flow, target: int, row: int) -> tuple[int | None, int | None]:
    """Return the tensor with a history that was scaled and added to data, to make a target; and the last addition."""
    added: int | None = None
    data_added = rewarded = scaled = False
    tensor, before = target, row
    while True:
        made = flow.last_producer(tensor, before, gradients=True)
        if made is None:
            return None, None
        inputs = flow.inputs(made)
        histories = [given for given in inputs if flow.has_history(given, made) or flow.requires_grad(given, made)]
        arranged = flow.does(made, Trait.ARRANGING) and added is None and not scaled
        if not (arranged or flow.does(made, Trait.ADDITION, Trait.SCALING)) or len(histories) != 1:
            found = data_added or (rewarded and scaled)  # a margin is a number as well, but scales nothing
            return (tensor, added) if found else (None, None)
        if flow.does(made, Trait.ADDITION) and not flow.does(made, Trait.DIFFERENCE):
            data = [given for given in inputs if given not in histories]
            data_added = data_added or any(flow.facts(given).shape not in ((), (1,)) for given in data)
            rewarded = rewarded or _adds_another_number(flow, made, histories[0])
            added = made if added is None else added
        scaled = scaled or flow.does(made, Trait.SCALING)
        tensor, before = histories[0], made


def _adds_another_number(flow: Flow, row: int, value: int) -> bool:
    """Whether an addition brings in a number that is another in every step, as the reward of one transition is."""
    event, place = flow.events[row], flow.inputs(row).index(value)

    def others(call: int) -> str:
        given = [one for at, one in enumerate(flow.inputs(call)) if at != place]
        return str((flow.events[call].data.get("arguments"), given))

    calls = flow.made_at(event.source, event.op)
    return others(calls[0]) != others(calls[-1])


def _of_another_network(flow: Flow, depends: Dependence, target: int, prediction: int, row: int) -> bool:
    """Whether a target depends on parameters only that no optimizer trains, and the prediction on some it does.

    What both depend on, such as the point that a field is integrated from, is not another network; nor is what is
    computed of parameters alone, as a scale is: a network is given something.
    """
    if depends.of(target, row) != _OTHER or not depends.of(prediction, row) & _TRAINED:
        return False
    mine, theirs = (flow.behind([given], row) for given in (prediction, target))
    leaves = flow.leaves_behind(theirs)
    return flow.leaves_behind(mine).isdisjoint(leaves) and not given_to(flow, theirs) <= leaves


def _has_a_twin(flow: Flow, target: int, row: int) -> bool:
    """Whether each parameter behind a target has one of its shape among the trained ones, as in a copied network."""
    leaves = flow.leaves_behind(flow.behind([target], row))
    shapes = {flow.facts(leaf).shape for leaf in _trained(flow)}
    return all(flow.facts(leaf).shape in shapes for leaf in leaves)


def _trained(flow: Flow) -> set[int]:
    """Return the leaves that gradients train: held by optimizers, or else those whose ``.grad`` the program reads."""
    held = set(flow.optimized)
    return held or set(flow.reads_of)


def _coordinates(flow: Flow) -> set[int]:
    """Return the leaves of data that derivatives are taken by: a known function of them is compared with as it is."""
    asked = {leaf for run in flow.runs for leaf in run.inputs}
    return {leaf for leaf in asked if not flow.facts(leaf).parameter}


def _case(flow: Flow, row: int, target: int, run: Run) -> Case:
    """Return the case of one comparison."""
    event = flow.events[row]
    spelled = flow.spelling.argument_at(event.source, event.written, flow.inputs(row).index(target))
    target = _given_to(flow, target, row)
    last = flow.last_producer(target, row, gradients=True)
    made = row if last is None else last
    source = flow.events[made].source
    likeness = is_likeness(flow, row) or _one_line_made_both(flow, row)
    spelled = spelled or (_written(flow, target, row) if likeness else "")
    name = spelled if likeness and spelled else flow.name(target, source or event.source)
    leaves = named(flow, sorted(flow.leaves_behind(flow.behind([target], row))))
    text = flow.spelling.text(source)
    remedy = f"{text}  # with .detach() behind the target, or the target computed under torch.no_grad()"
    if name.isidentifier():
        remedy = f"{name} = {name}.detach(), or compute it under torch.no_grad()"
    part = "" if likeness or source != event.source else _value_written(flow, target, row)
    if part:
        name, remedy = f"with {part} in it", f"{part}.detach() in place of {part} there"
    if likeness and spelled:
        remedy = f"{spelled}.detach() in place of {spelled} in that comparison"  # the other half of a loss may train it
    return Case(
        kind="missing-detach",
        message=f"gradient flows through the target {name}, made{at(source)} and compared{at(event.source)}, into "
        f"{leaves}: a target is to be a constant, so it needs detach(), unless it is to move as well.",
        remedy=remedy,
        source=event.source if likeness and spelled else source,
        op=flow.events[made].op,
        subjects=frozenset(flow.leaves_behind(flow.behind([target], row)) - set(flow.optimized)),
        marks=flow.marks(run, [made], "a target that is not detached"),
        evidence={
            "leaves": [flow.name(leaf) for leaf in flow.leaves_behind(flow.behind([target], row))],
            **({"part": part} if part else {}),
        },
    )


def _value_written(flow: Flow, target: int, row: int) -> str:
    """Return how a line that makes and compares a target spells the value in it which is to be a constant."""
    value, _ = _value_in(flow, target, row)
    taking = next((call for call in flow.used_in.get(value, ()) if call < row), None) if value is not None else None
    return "" if taking is None or value is None else flow.written_names(taking).get(value, "")


def _one_line_made_both(flow: Flow, row: int) -> bool:
    """Whether both sides of a comparison come from one line, of a function called for each: it is not to change."""
    made = [flow.last_producer(given, row, gradients=True) for given in flow.inputs(row)[:2]]
    sources = {None if one is None else flow.events[one].source for one in made}
    return len(sources) == 1 and not sources & {None, flow.events[row].source}


def _written(flow: Flow, target: int, row: int) -> str:
    """Return the text of a comparison's target in its line: a name, or the call that returns it."""
    known = flow.written_names(row).get(target, "")
    return known if is_name(known) or is_call(known) else ""


def _given_to(flow: Flow, operand: int, row: int) -> int:
    """Return the argument of a function of several calls from which an operand was computed."""
    event, made = flow.events[row], flow.last_producer(operand, row, gradients=True)
    while made is not None and (flow.events[made].op, flow.events[made].source) == (event.op, event.source):
        operand = flow.inputs(made)[0]
        made = flow.last_producer(operand, made, gradients=True)
    return operand
