"""Operators by what they do, where more than one check asks it."""

from __future__ import annotations

from ...events import Event
from ...operators import Trait, is_a

LINEAR = frozenset(
    {"add", "sub", "rsub", "mean", "sum", "mul", "div", "neg", "reshape", "view", "squeeze", "stack", "cat"}
)
"""Operators behind which a constant summand is still a constant summand."""
EXPANDING = frozenset({"expand", "expand_as", "broadcast_to", "broadcast_tensors", "as_strided", "unfold", "meshgrid"})
"""Operators whose results may have several entries in one place of memory."""


def draws_numbers(event: Event) -> bool:
    """Whether a call draws random numbers that its result shows: of dropout, only where it is on."""
    arguments = event.data.get("arguments") or {}
    off = arguments.get("training") is False
    if "dropout" in event.op:
        off = off or arguments.get("2") is False or arguments.get("p", arguments.get("1")) == 0
    return is_a(event.op, Trait.RANDOM) and not off
