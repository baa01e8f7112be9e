"""Steps of optimizers that move nothing, or by gradients that were not meant for them."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check, Kind, Stage
from ...facts.flow import Flow
from .closures import closures
from .lengths import creeping, overshot, scaled, squared_rate, unmoved
from .turns import lost_updates, moved_frozen, never_stepped, other_turns


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family; other kinds are those of optimizers and of accumulated gradients."""
    if flow.ledger.optimizers and flow.accumulated:
        yield from never_stepped(flow)
        yield from other_turns(flow)
        yield from closures(flow)
        yield from unmoved(flow)
        yield from moved_frozen(flow)
        yield from scaled(flow)
        yield from creeping(flow)
        yield from squared_rate(flow)
    if flow.accumulated:
        yield from overshot(flow)
    yield from lost_updates(flow)


KINDS = {
    "moved-while-frozen": Kind("a step moves what was frozen", "warning", Stage.STRUCTURE),
    "lost-update": Kind(
        "a step by hand makes new tensors and leaves the parameters as they are", "error", Stage.OMISSION
    ),
    "scaled-gradient": Kind("a step uses gradients of a scaled loss as they are", "error", Stage.OMISSION),
}
CHECK = Check("accumulation", KINDS, find)
