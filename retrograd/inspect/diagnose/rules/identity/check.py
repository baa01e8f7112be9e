"""Parameters that are not the tensors which a program trains: made anew in each pass, or results of others."""

from __future__ import annotations

from collections.abc import Iterator

from ...base import Case, Check
from ...facts.flow import Flow
from .derived import derived
from .remade import remade


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family; their kind is that of optimizers which hold other tensors than the graph."""
    if flow.ledger.steps and flow.accumulated:
        yield from remade(flow)
        yield from derived(flow)


CHECK = Check("unused", {}, find)
