"""Weights of entries that come too late: they multiply the one number to which a loss has averaged these entries."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...operators import Trait
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.words import at, shape_text


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
