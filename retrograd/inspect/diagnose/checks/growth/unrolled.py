"""States that are carried from step to step with a history that no backward run ever needs: evaluation, recorded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from ....snapshot import SourceLine
from ...base import Case
from ...recorded.flow import Flow
from ...statements.spelling import passed_on
from ...words import at, counted

STEPS = 20
"""Steps from which on a history is long enough to tell of."""
_LEAVING = frozenset({"item", "tolist", "numpy", "detach", "data"})


def carried_for_nothing(flow: Flow) -> Iterator[Case]:
    """Yield a case for the first line that takes its own result again and again, while values leave at every step."""
    if flow.error is not None:
        return
    used = {row for run in flow.runs for row in flow.reached_by(run).calls}
    by_line: dict[tuple[SourceLine | None, str, frozenset[int]], list[int]] = {}
    for row in flow.rows.get("operation", ()):
        idle = row not in used and flow.has_node(row)
        weights = frozenset(flow.trainable(flow.inputs(row))) if idle else None
        if weights:
            by_line.setdefault((flow.events[row].source, flow.events[row].op, weights), []).append(row)
    long = [rows for rows in by_line.values() if len(rows) >= STEPS]
    depth = _depths(flow, used) if long else {}
    chains = (_chain(rows, depth) for rows in long)
    found = [links for links in chains if len(links) >= STEPS and _watched(flow, links) and _carrying(flow, links[-1])]
    if found:
        yield _case(flow, found[0])


def _carrying(flow: Flow, row: int) -> SourceLine | None:
    """Return the line on the stack of a call that both takes and sets a variable: ``h = cell(x, h)``."""
    return next((line for line in flow.lines(row) if passed_on(flow.spelling.text(line))), None)


def _depths(flow: Flow, used: set[int]) -> dict[int, int]:
    """Return, of each recorded call that no backward run reached, how many such calls lie behind it in a row."""
    depth: dict[int, int] = {}
    for kind in ("operation", "inplace"):
        for row in flow.rows.get(kind, ()):
            if row not in used and flow.has_node(row):
                made = (flow.last_producer(given, row, gradients=True) for given in flow.inputs(row))
                depth[row] = 1 + max((depth.get(one, 0) for one in made if one is not None), default=0)
    return depth


def _chain(rows: list[int], depth: dict[int, int]) -> list[int]:
    """Return the longest stretch of calls, each deeper in the graph than the one before."""
    best, begin = (0, 0), 0
    for place, (last, row) in enumerate(pairwise(rows), 1):
        if depth[row] <= depth[last]:
            begin = place
        best = max(best, (place + 1 - begin, begin))
    return rows[best[1] : best[1] + best[0]]


def _watched(flow: Flow, links: list[int]) -> bool:
    """Whether values with a history left for plain numbers in nearly every step: nothing else is wanted of them."""
    left = [row for row in flow.rows.get("cut", ()) if flow.events[row].data.get("reason") in _LEAVING]
    steps = {bisect_left(links, row) for row in left}
    return len(steps - {0}) >= 0.9 * len(links)


def _case(flow: Flow, links: list[int]) -> Case:
    """Return the case of one chain."""
    event = flow.events[links[-1]]
    source = _carrying(flow, links[-1])
    name = passed_on(flow.spelling.text(source))
    return Case(
        kind="graph-growth",
        message=f"the graph behind {name} grows with every step: it is carried over{at(source)} with its history, "
        f"{counted(len(links), 'step')} long by now, although only plain numbers are taken of it and no backward runs.",
        remedy=f"evaluate under torch.no_grad(), or {name} = {name}.detach() in every step",
        source=source,
        op=event.op,
        subjects=frozenset(flow.outputs(links[-1])),
        evidence={"steps": len(links)},
    )
