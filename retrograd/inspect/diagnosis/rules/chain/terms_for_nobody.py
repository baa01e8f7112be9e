"""Terms of a loss that are cut off from what it trains, and whose gradients no step ever uses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.constants import Cut


def serves_nobody(flow: Flow, run: Run, cut: Cut, sums: set[int], leaves: Iterable[int]) -> list[int]:
    """Return the leaves that alone get a gradient from the term behind which a cut lies, if all of it is thrown away.

    As that of a critic whose gradients are cleared before its own turn.  ``leaves`` are those behind the cut, of which
    the run must train some, and ``sums`` the calls that only add up what becomes the loss.
    """
    arrived = flow.arrival_rows(run)
    if not any(leaf in arrived and not _is_thrown_away(flow, leaf, arrived[leaf]) for leaf in leaves):
        return []
    for row in sorted(sums):
        for term in flow.inputs(row):
            made = flow.last_producer(term, row, gradients=True)
            if made is None or made in sums:
                continue
            behind = flow.behind([term], row)
            reached = flow.leaves_behind(behind) & arrived.keys() if cut.taker in behind.calls else set()
            if reached and all(_is_thrown_away(flow, leaf, arrived[leaf]) for leaf in reached):
                return sorted(reached)
    return []


def _is_thrown_away(flow: Flow, leaf: int, arrivals: list[int]) -> bool:
    """Whether the next step of the optimizer that has a leaf finds nothing of what arrived there and was not zero."""
    if not any(map(flow.ledger.brings, arrivals)):
        return False
    steps = flow.ledger.steps_of.get(leaf, [])
    following = bisect_right(steps, arrivals[-1], key=lambda step: step.row)
    if following == len(steps):
        return bool(steps)
    return arrivals[-1] not in flow.ledger.fresh(steps[following], leaf)
