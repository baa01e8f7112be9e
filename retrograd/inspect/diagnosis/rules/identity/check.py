"""Parameters that are not the tensors which a program trains: made anew in each pass, results of others, one for n."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check
from ...facts.flow import Flow
from .derived import derived
from .multiplied import multiplied
from .remade import remade


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family; their kinds are those of wrong optimizers and of missing copies."""
    if flow.ledger.steps and flow.accumulated:
        yield from multiplied(flow)
        yield from remade(flow)
        yield from derived(flow)


CHECK = Check("unused", {}, find)
