"""Groups of optimizers into which a condition let nothing, while something gets gradients that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer
from ...roles.trained import without_use
from ...text.words import at, counted, listed


def empty_groups(flow: Flow) -> Iterator[Case]:
    """Yield a case for each optimizer with an empty group that steps, beside leaves which nothing else trains."""
    left = None
    for optimizer in flow.ledger.optimizers.values():
        if optimizer.steps and (empty := _empty(optimizer)):
            left = without_use(flow) if left is None else left
            often = sorted(leaf for leaf in left if len(flow.accumulated[leaf]) > 1)
            if often:
                yield _case(flow, optimizer, empty, often)


def _empty(optimizer: Optimizer) -> list[int]:
    """Return the numbers of the groups that had nothing when the optimizer last stepped."""
    event = optimizer.steps[-1].event
    held = {int(place.partition(".")[0]) for place in event.data.get("parameters", {})}
    return [group for group in range(len(event.data.get("settings", ()))) if group not in held]


def _case(flow: Flow, optimizer: Optimizer, empty: list[int], leaves: list[int]) -> Case:
    """Return the case of one optimizer."""
    names, groups = listed(flow.name(leaf) for leaf in leaves), len(optimizer.steps[-1].event.data["settings"])
    which = "all" if len(empty) == groups else listed(f"number {group}" for group in empty)
    return Case(
        kind="optimizer-mismatch",
        message=f"of the {counted(groups, 'group')} of the optimizer made{at(optimizer.event.source)}, {which} "
        f"{'are' if len(empty) > 1 else 'is'} empty: no parameter fits the condition that fills them, and {names} get "
        "gradients that no optimizer uses.",
        remedy="compare the condition with the names that named_parameters() gives for this very model: wrappers put a "
        "prefix before them",
        source=optimizer.event.source,
        op=optimizer.event.data.get("type", ""),
        subjects=frozenset(leaves),
        evidence={"empty": empty, "missing": [flow.name(leaf) for leaf in leaves]},
    )
