"""Operators by what they do, where more than one check asks it."""

from __future__ import annotations

LINEAR = frozenset(
    {"add", "sub", "rsub", "mean", "sum", "mul", "div", "neg", "reshape", "view", "squeeze", "stack", "cat"}
)
"""Operators behind which a constant summand is still a constant summand."""
EXPANDING = frozenset({"expand", "expand_as", "broadcast_to", "broadcast_tensors", "as_strided", "unfold", "meshgrid"})
"""Operators whose results may have several entries in one place of memory."""
