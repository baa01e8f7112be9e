"""Parameters without gradients that are nobody's mistake: a package made them, or the program drops their results."""

from __future__ import annotations

from collections.abc import Iterable

from ...snapshot import SourceLine
from ..recorded.flow import Flow
from ..statements.spelling import drops, returns


def made_by_a_package(flow: Flow, leaves: Iterable[int]) -> bool:
    """Whether a package made all of these leaves, so that no line of the user's could use or leave out one of them."""
    lines = [flow.facts(leaf).source for leaf in leaves]
    return all(line is not None and line.inside for line in lines)


def dropped_at(flow: Flow, row: int) -> SourceLine | None:
    """Return the line that calls for the result of a call, handed up as it is, and does nothing with it."""
    lines = flow.lines(row)
    for line in lines[1:] if returns(flow.spelling.text(lines[0])) else ():
        text = flow.spelling.text(line)
        if not returns(text):
            return line if drops(text) else None
    return None


def goes_on(flow: Flow, row: int) -> bool:
    """Whether what a call made goes on into the memory of another leaf, as a mean of weights does."""
    given = {event.data.get("given") for _, event in flow.of_kind("leaf", change="written")} - {None}
    return bool(given) and not given.isdisjoint(flow.descendants(flow.outputs(row), row).tensors)
