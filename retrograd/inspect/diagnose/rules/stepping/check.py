"""Steps of optimizers that move nothing, or by gradients that were not meant for them."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check
from ...facts.flow import Flow
from .closures import closures
from .creeping import creeping
from .never_stepped import never_stepped
from .other_turns import other_turns
from .overshot import overshot
from .unmoved import unmoved


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family; their kinds are those of optimizers and of accumulated gradients."""
    if flow.ledger.optimizers and flow.accumulated:
        yield from never_stepped(flow)
        yield from other_turns(flow)
        yield from closures(flow)
        yield from unmoved(flow)
        yield from creeping(flow)
    if flow.accumulated:
        yield from overshot(flow)


CHECK = Check("accumulation", {}, find)
