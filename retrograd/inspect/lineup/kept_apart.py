"""Parameters outside every wrapper that differ between ranks on purpose: parts of a model split over ranks."""

from __future__ import annotations

from collections.abc import Iterable

from ..operators import Trait, is_a
from ..operators.collectives import Shares, shares
from .copies import Copies

_EXCHANGING = frozenset({Shares.PARTS, Shares.SUM, Shares.PAIR})
"""What gives ranks a part, or a sum, of what others computed; of shared weights copies are gathered, too."""


def kept_apart(told: Copies, names: Iterable[str]) -> set[str]:
    """Return which of some parameters are one rank's own, as far as it shows.

    Either others get what is computed with them, and send its gradient back; or they are a table, of which rows are
    read, that an optimizer of its own trains.
    """
    numbers = {told.numbers[name]: name for name in names if name in told.numbers}
    own = _exchanged(told, numbers) | _trained_apart(told, _tables(told, numbers))
    return {numbers[one] for one in own}


def tables(told: Copies, names: Iterable[str]) -> set[str]:
    """Return the parameters of which rows are read and no more: each rank may have a table for rows of its own."""
    return {told.names[one] for one in _tables(told, {told.numbers[name] for name in names if name in told.numbers})}


def _exchanged(told: Copies, numbers: dict[int, str]) -> set[int]:
    """Return the parameters of which a result is sent in a forward pass before a shared parameter has part in it."""
    bits = {number: 1 << place for place, number in enumerate(numbers)}
    made, found = dict(bits), 0
    shared = {number for number, name in told.names.items() if name in told.wrapped or name in told.reduced}
    for event in told.events:
        data = event.data
        inputs = data.get("inputs", ())
        if event.kind in ("operation", "function") and shared.isdisjoint(inputs):
            mask = 0
            for one in inputs:
                mask |= made.get(one, 0)
            if mask:
                made.update({one: made.get(one, 0) | mask for one in data.get("outputs", ())})
        elif event.kind == "collective" and _EXCHANGING & shares(event.op) and data.get("group_size", 1) > 1:
            for one, required in zip(inputs, data.get("requires_grad", ()), strict=False):
                found |= made.get(one, 0) if required and not data.get("grad") else 0
    return {number for number, bit in bits.items() if found & bit}


def _tables(told: Copies, numbers: Iterable[int]) -> set[int]:
    """Return the tensors of which rows are read and no more."""
    read = dict.fromkeys(numbers, False)
    for event in told.events:
        if event.kind == "operation" and "nodes" in event.data:
            for one in read.keys() & set(event.data.get("inputs", ())):
                read[one] = is_a(event.op, Trait.INDEXING)
                if not read[one]:
                    del read[one]
    return {one for one, by_rows in read.items() if by_rows}


def _trained_apart(told: Copies, numbers: set[int]) -> set[int]:
    """Return the parameters whose optimizers have no shared ones."""
    apart = set(numbers)
    for event in told.events:
        if event.kind == "optimizer" and event.data.get("action") == "step":
            stepped = set(event.data.get("parameters", {}).values())
            if any(told.names.get(one) in told.wrapped or told.names.get(one) in told.reduced for one in stepped):
                apart -= stepped
    return apart
