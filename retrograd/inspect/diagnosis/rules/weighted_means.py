"""Numbers of a whole batch that meet those of each example: means that weights come too late for, and sums."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import prod

from ...operators import Trait
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.words import at, shape_text
from ..thresholds import HABIT


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose loss is one number that is multiplied by a weight of each of its entries."""
    reported = set()
    for row, event in flow.of_kind("operation"):
        if event.source in reported or not flow.does(row, Trait.LOSS) or not flow.has_node(row):
            continue
        weighted = _weighted(flow, row)
        if weighted is not None and weighted[0] in flow.behind_losses.calls:
            reported.add(event.source)
            yield _case(flow, row, *weighted)
    yield from _summed_too_soon(flow)


CHECK = Check("contracts", {}, find)


def _weighted(flow: Flow, row: int) -> tuple[int, int] | None:
    """Return the call that multiplies what a loss gave by weights, and these; None where its result is no one number.

    The weights have no history, and the shape of the target, or of its rows.
    """
    result, target = flow.outputs(row)[:1], flow.inputs(row)[1:2]
    if not result or not target or flow.facts(result[0]).shape:
        return None
    entries = flow.facts(target[0]).shape
    for call in flow.used_in.get(result[0], ()):
        if not flow.does(call, Trait.PRODUCT) or not flow.has_node(call):
            continue
        for weight in flow.inputs(call):
            shape = flow.facts(weight).shape
            alike = prod(shape) > 1 and shape == entries[: len(shape)]
            if (
                alike
                and not flow.has_history(weight, call)
                and not flow.requires_grad(weight)
                and _is_totalled(flow, call)
            ):
                return call, weight
    return None


def _is_totalled(flow: Flow, row: int) -> bool:
    """Whether nothing is done with the products but to reduce them."""
    used = [call for out in flow.outputs(row) for call in flow.used_in.get(out, ()) if call > row]
    return bool(used) and all(flow.does(call, Trait.REDUCTION) for call in used)


def _case(flow: Flow, row: int, call: int, weight: int) -> Case:
    """Return the case of one line."""
    event, product = flow.events[row], flow.events[call]
    name, shape = flow.operand_name(weight, call), flow.facts(weight).shape
    return Case(
        kind="loss-contract",
        message=f"{event.op}{at(event.source)} gives one number, the mean of all its entries or their sum, and "
        f"{product.op}{at(product.source)} multiplies that by {name}, {shape_text(shape)}: every entry counts alike, "
        f"whatever {name} says of it.",
        remedy=f'reduction="none" in {event.op}, so that {name} meets the loss of each entry',
        source=event.source,
        op=event.op,
        marks=flow.marks(flow.run_after(row), [row], "reduced before it is weighted"),
        evidence={"weights": list(shape), "product": list(product.source or ())},
    )


# -- sums over all examples that are added to the numbers of each of them, of which the mean is taken


def _summed_too_soon(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that adds the sum of a batch to numbers of its examples, before their mean is taken.

    The mean counts it once for each example, as it does nothing else.  A sum of the very numbers that it is added to
    is there to leave each out in turn.
    """
    reported = set()
    for row, event in flow.of_kind("operation"):
        given = flow.inputs(row)
        adds = flow.has_node(row) and flow.does(row, Trait.ADDITION) and flow.does(row, Trait.LINEAR)
        if event.source in reported or not adds or len(given) != 2 or flow.numbers(row):
            continue
        for total, each in permutations(given):
            summed = None if flow.facts(total).shape else _sum_of_batch(flow, total, each, row)
            mean = None if summed is None else _only_averaged(flow, row)
            if summed is not None and mean is not None:
                reported.add(event.source)
                yield _sum_case(flow, row, summed, mean, flow.facts(each).shape)


def _sum_of_batch(flow: Flow, total: int, each: int, row: int) -> int | None:
    """Return the call that summed over all examples of which another tensor has a number each."""
    made, shape = flow.last_producer(total, row, gradients=True), flow.facts(each).shape
    if made is None or not shape or shape[0] < HABIT or flow.does(made, Trait.AVERAGE):
        return None
    if not (flow.does(made, Trait.REDUCTION) and flow.does(made, Trait.LINEAR)):
        return None
    of = flow.inputs(made)[0]
    mine, theirs = (flow.behind([one], row, gradients=False).tensors for one in (of, each))
    shared = {one for one in mine & theirs if flow.facts(one).shape[:1] == shape[:1] and not flow.trainable([one])}
    if shape[0] not in flow.facts(of).shape or each in mine or not shared:
        return None
    return made if of in flow.descendants(shared, follow=lambda call: _keeps_examples(flow, call)).tensors else None


def _keeps_examples(flow: Flow, call: int) -> bool:
    """Whether a call reduces nothing, or dimensions behind the first."""
    arguments = flow.events[call].data.get("arguments") or {}
    dims = arguments.get("dim", arguments.get("1"))
    return not flow.does(call, Trait.REDUCTION) or dims not in (None, 0, [0], (0,))


def _only_averaged(flow: Flow, row: int) -> int | None:
    """Return the mean that is taken of a result, if nothing else becomes of it but sums with other numbers."""
    after = flow.descendants(flow.outputs(row), row, lambda call: not flow.does(call, Trait.REDUCTION)).calls
    reduced = [call for call in after if flow.does(call, Trait.REDUCTION)]
    plain = all(flow.does(call, Trait.LINEAR) for call in after if flow.has_node(call))
    means = [call for call in reduced if flow.does(call, Trait.AVERAGE) and call in flow.behind_losses.calls]
    return means[0] if plain and len(means) == len(reduced) == 1 else None


def _sum_case(flow: Flow, row: int, summed: int, mean: int, shape: tuple[int, ...]) -> Case:
    """Return the case of one line; ``shape``: that of the numbers of examples."""
    event, total, of = flow.events[row], flow.events[summed], flow.inputs(summed)[0]
    inner = [dim for dim, size in enumerate(flow.facts(of).shape) if size != shape[0]]
    rest = f"sum over the other dimensions alone: dim={inner[0] if len(inner) == 1 else tuple(inner)} in {total.op}"
    return Case(
        kind="loss-contract",
        message=f"{total.op}{at(total.source)} sums {flow.operand_name(of, summed)}, "
        f"{shape_text(flow.facts(of).shape)}, over all {shape[0]} examples, and {event.op}{at(event.source)} puts that "
        f"one number to those of each example, {shape_text(shape)}, of which {flow.events[mean].op}"
        f"{at(flow.events[mean].source)} takes the mean: it counts {shape[0]} times as much as it should.",
        remedy=rest if inner else f"leave one number for each example in {total.op}, or take the mean there as well",
        source=total.source,
        op=total.op,
        marks=flow.marks(flow.run_after(row), [summed], "summed over all examples"),
        evidence={"summed": list(flow.facts(of).shape), "each": list(shape), "added": list(event.source or ())},
    )
