"""Advantages with gradients: the difference between outcome and expectation should only weight a log-probability."""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait
from ...base import Case
from ...facts.flow import Flow
from ...facts.lines import few_of_each_line
from ...queries.distance import counts_by_size
from ...roles.compared import compared_with_data
from ...text.words import at, named

_LINEAR = (Trait.LINEAR, Trait.SCALING, Trait.ARRANGING)
"""Traits of operators that compute an advantage from values and rewards."""


def weighing_errors(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that weighs a log-probability with the error of a prediction which is trained, too.

    The prediction is held to data elsewhere, as a critic is to returns; by the product it would learn to be wrong.
    """
    runs = [run for run in flow.runs if run.accumulates and not run.error]
    calls = set().union(*(flow.reached_by(run).calls for run in runs))
    likelihoods = _likelihoods(flow, calls)
    reported = set()
    for row in few_of_each_line(flow, (row for row in calls if _weighs(flow, row))):
        event = flow.events[row]
        operands = flow.inputs(row)[:2]
        if event.source in reported or len(operands) < 2 or likelihoods.isdisjoint(operands):
            continue
        for weight, likelihood in (operands, operands[::-1]):
            if likelihood in likelihoods and _is_learned(flow, weight, likelihood, row, calls):
                if not counts_by_size(flow, row):
                    reported.add(event.source)
                    yield _case(flow, weight, row)
                break


def _weighs(flow: Flow, row: int) -> bool:
    """Whether a call multiplies entries with entries, which a product of matrices with weights does not."""
    shapes = {flow.facts(one).shape for one in flow.inputs(row)[:2]}
    return flow.does(row, Trait.PRODUCT) and (len(shapes) == 1 or flow.does(row, Trait.ELEMENTWISE))


def _likelihoods(flow: Flow, calls: set[int]) -> set[int]:
    """Return what comes from the logarithm of a probability: in one pass, as a long loop has a product in each turn."""
    found: set[int] = set()
    for row in sorted(calls):
        if flow.does(row, Trait.LOGARITHMIC) or not found.isdisjoint(flow.inputs(row)):
            found.update(flow.outputs(row))
    return found


def _is_learned(flow: Flow, weight: int, likelihood: int, row: int, calls: set[int]) -> bool:
    """Whether a weight is data less a prediction with a history, that another loss among ``calls`` holds to data.

    How far the very probability is from one, as a focal loss weighs hard examples, is not an error of a prediction.
    """
    todo, seen = [(weight, row)], {weight}
    held = False
    differences: list[tuple[int, list[int]]] = []
    while todo:
        tensor, before = todo.pop()
        made = flow.last_producer(tensor, before, gradients=True)
        if made is None:
            continue
        held = held or compared_with_data(flow, tensor, calls)
        inputs = flow.inputs(made)
        if not flow.does(made, *_LINEAR):
            continue
        histories = [given for given in inputs if flow.has_history(given, made)]
        if flow.does(made, Trait.DIFFERENCE) and (len(histories) < len(inputs) or len(inputs) == 1):
            differences.append((made, histories))
            held = held or counts_by_size(flow, made)
        fresh = [given for given in histories if given not in seen]
        seen.update(fresh)
        todo.extend((given, made) for given in fresh)
    return held and any(not _weighs_itself(flow, one, likelihood, row) for one in differences)


def _weighs_itself(flow: Flow, difference: tuple[int, list[int]], likelihood: int, row: int) -> bool:
    """Whether a difference depends on the same result from which the likelihood was computed."""
    made, subtracted = difference
    behind = flow.behind([likelihood], row).tensors
    return any(_from_within(flow, one, made, behind) for one in subtracted)


def _from_within(flow: Flow, tensor: int, before: int, behind: set[int]) -> bool:
    """Whether a tensor comes, entry by entry, from one of those behind; a part of one may be another head."""
    at_hand: int | None = tensor
    while at_hand is not None:
        if at_hand in behind and not flow.is_leaf(at_hand):
            return True
        made = flow.last_producer(at_hand, before, gradients=True)
        if made is None or flow.does(made, Trait.PART):
            return False
        histories = [given for given in flow.inputs(made) if flow.has_history(given, made)]
        at_hand, before = (histories[0], made) if len(histories) == 1 else (None, made)
    return False


def _case(flow: Flow, weight: int, row: int) -> Case:
    """Return the case of one product."""
    event = flow.events[row]
    name = flow.spelling.spelled(weight, row) or flow.name(weight, event.source)
    made = flow.last_producer(weight, row, gradients=True)
    behind = flow.leaves_behind(flow.behind([weight], row))
    leaves = named(flow, sorted(behind))
    has_name = name.isidentifier() or "." in name
    made_at = at(flow.events[made].source) if made is not None else ""
    return Case(
        kind="missing-detach",
        message=f"{name}, made{made_at}, weighs a log-probability{at(event.source)} without detach(): gradients flow "
        f"through it into {leaves}, trained that way to change the weight instead of to predict well.",
        remedy=f"{name}.detach() in place of {name} in that line" if has_name else "detach() the weight in that line",
        source=event.source,
        op=event.op,
        marks=flow.marks(flow.run_after(row), [row], "a weight that is not detached"),
        evidence={"leaves": [flow.name(leaf) for leaf in sorted(behind)]},
    )
