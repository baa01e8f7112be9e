"""One layer, multiplied in a list: ``[Layer(...)] * n`` has the same weights n times."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....graphs.graph import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...roles.unused import lines_to
from ...text.words import at, counted, listed
from ...thresholds import HABIT


def multiplied(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that makes layers once and lists them again and again, if passes use them so."""
    run = next((run for run in reversed(flow.runs) if run.accumulates and not run.error), None)
    calls = flow.reached_by(run).calls if run is not None else set()
    by_line: dict[SourceLine, dict[int, int]] = {}
    for leaf in sorted(flow.accumulated):
        times = len(calls.intersection(flow.used_in.get(leaf, ())))
        line = _multiplying(flow, leaf) if times >= HABIT else None
        if line is not None:
            by_line.setdefault(line, {})[leaf] = times
    for line, leaves in by_line.items():
        yield _case(flow, line, leaves)


def _multiplying(flow: Flow, leaf: int) -> SourceLine | None:
    """Return the line on the stack when a leaf was made that multiplies a list of what it calls for."""
    return next((line for line in lines_to(flow, leaf) if _multiplied(flow, line)), None)


def _multiplied(flow: Flow, line: SourceLine) -> tuple[ast.expr, ...]:
    """Return the two sides of ``[made(...)] * n`` in a line, the list first."""
    tree = flow.spelling.statement(line)
    for part in ast.walk(tree) if tree is not None else ():
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            for side, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(side, ast.List) and any(isinstance(one, ast.Call) for one in side.elts):
                    return side, other
    return ()


def _case(flow: Flow, line: SourceLine, leaves: dict[int, int]) -> Case:
    """Return the case of one line."""
    sides = _multiplied(flow, line)
    made, count = map(ast.unparse, sides)
    single = isinstance(sides[0], ast.List) and len(sides[0].elts) == 1
    each = f"{made[1:-1]} for _ in range({count})" if single else f"one for _ in range({count}) for one in {made}"
    times = max(leaves.values())
    return Case(
        kind="missing-copy",
        message=f"every pass goes {counted(times, 'time')} through the same {listed(map(flow.name, leaves))}: "
        f"{made} * {count}{at(line)} makes one object and lists it again and again.",
        remedy=f"[{each}], which makes one for each place",
        source=line,
        severity="warning",
        subjects=frozenset(leaves),
        evidence={"times": times},
    )
