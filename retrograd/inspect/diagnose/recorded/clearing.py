"""When a leaf's ``.grad`` was cleared, by whatever clears it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .flow import Flow

_CLEARING = ("grad-cleared", "grad-zeroed", "grad-set", "zero_grad")


def last_before(rows: Sequence[int], row: int) -> int:
    """Return the last of sorted rows before another one, -1 for none."""
    place = bisect_left(rows, row)
    return rows[place - 1] if place else -1


def cleared_at(flow: Flow, leaf: int, before: int) -> int:
    """Return the row at which a leaf's gradient was last cleared before another row, -1 for none."""
    return max(last_before(flow.leaf_events.get((leaf, change), ()), before) for change in _CLEARING)
