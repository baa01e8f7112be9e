"""Leaves that a line leaves out which takes all others that were made with them, as a loop that ends one too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...snapshot import SourceLine
from ..recorded.flow import Flow
from ..statements.spelling import variables_in

Stack = tuple[SourceLine, ...]
"""The user's lines that led to a call, innermost first."""


@dataclass(frozen=True, slots=True)
class Others:
    """What takes the leaves that were made by the same lines as one that is unused."""

    line: SourceLine
    """The head of the loop over them, or the statement in which they all stand."""
    loop: bool


@dataclass(frozen=True, slots=True)
class _Taken:
    """A call that takes one of the others."""

    leaf: int
    row: int
    stack: Stack


def others_of(flow: Flow, leaves: Sequence[int]) -> Others | None:
    """Return what is known of the others, if the same line takes each of them."""
    made: dict[Stack, list[int]] = {}
    for one in sorted(flow.got_gradient):
        made.setdefault(_made_by(flow, one), []).append(one)
    found = [_taken(flow, made.get(stack, []) if (stack := _made_by(flow, leaf)) else []) for leaf in leaves]
    if not found or any(len(taken) < 2 for taken in found):
        return None
    shared = [line for line in found[0][0].stack if all(line in one.stack for taken in found for one in taken)]
    for line in shared:
        loop = _loop_over(flow, line, [one for taken in found for one in taken])
        if loop is not None:
            return Others(loop, loop=True)
    return Others(shared[0], loop=False) if shared else None


def _made_by(flow: Flow, leaf: int) -> Stack:
    """Return the lines on the stack when a leaf got its first values; nothing for what is none."""
    rows = [row for made in flow.producing(leaf) for row in made[:1]]
    return tuple(flow.lines(min(rows))) if rows and flow.trainable([leaf]) else ()


def _taken(flow: Flow, others: list[int]) -> list[_Taken]:
    """Return a call of one line for each of the leaves made alike; nothing if no line takes all of them."""
    calls = [
        {tuple(flow.lines(row)): row for row in reversed(flow.used_in.get(one, ())) if flow.has_node(row)}
        for one in others
    ]
    shared = set(calls[0]).intersection(*calls) if calls else set()
    if not shared:
        return []
    first = min(shared, key=lambda stack: calls[0][stack])
    return [_Taken(one, rows[first], first) for one, rows in zip(others, calls, strict=True)]


def _loop_over(flow: Flow, line: SourceLine, taken: list[_Taken]) -> SourceLine | None:
    """Return the head of the loop whose variable picks what a line takes, which may be the line itself."""
    tree = flow.spelling.statement(line)
    if tree is None:
        return None
    if any(isinstance(part, ast.comprehension) for part in ast.walk(tree)):
        return line
    called = {name for part in ast.walk(tree) if isinstance(part, ast.Call) for name in variables_in(part.func)}
    head = flow.spelling.loop_around(line)
    return head[0] if head is not None and head[1] & {*called, *_picking(flow, line, taken)} else None


def _picking(flow: Flow, line: SourceLine, taken: list[_Taken]) -> Iterator[str]:
    """Yield the variables by which a line spells the leaves that it takes: ``k`` of ``experts[k]``."""
    for one in taken:
        data = flow.events[one.row].data
        if flow.events[one.row].source == line:
            for given, name in zip(data.get("inputs", ()), data.get("names", ()), strict=False):
                if given == one.leaf:
                    yield from variables_in(name)
