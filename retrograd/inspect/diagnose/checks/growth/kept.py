"""Results that are kept with their graphs: which line puts them away, who holds them, what to keep instead."""

from __future__ import annotations

from ....snapshot import SourceLine
from ...base import Case
from ...recorded.flow import Flow
from ...statements.spelling import assigned
from ...words import at, counted

NUMBERS = ((), (1,))
"""Shapes of a single number, as metrics are."""


def kept_case(flow: Flow, made_at: SourceLine | None, tensors: list[int], steps: int) -> Case:
    """Return the case of one line whose results are kept."""
    name = flow.name(tensors[-1], made_at)
    given = assigned(flow.spelling.text(made_at))
    if given and not name.isidentifier():  # its place in a list, or no name at all
        name = given
    source = put_away(flow, name, made_at) or made_at
    number = flow.facts(tensors[-1]).shape in NUMBERS
    named = bool(given) or flow.spelling.has_name(tensors[-1])
    holder = _holder(flow, made_at)
    held = f", held by {holder}" if holder else ""
    remedy = f"keep {name}.item(), or {name}.detach()" if number else f"keep {name}.detach()"
    return Case(
        kind="graph-growth",
        message=f"{name}, made{at(made_at)}, is kept with its graph from each of {counted(steps, 'step')}{at(source)}"
        f"{held}: memory grows from step to step.",
        remedy=_emptied(holder, remedy if named else "call .detach() on what is kept, where it is put away"),
        source=source,
        op=flow.events[flow.made_in[tensors[-1]][-1]].op,
        subjects=frozenset(tensors),
        evidence={"kept": len(tensors), "name": name},
    )


def _holder(flow: Flow, made_at: SourceLine | None) -> str:
    """Return what holds the results of a line, as the interpreter told."""
    return next((facts.holder for facts in flow.tensors if facts.holder and facts.source == made_at), "")


def _emptied(holder: str, remedy: str) -> str:
    """Return the remedy for what somebody keeps: a cache keeps what its function returned, whoever asked."""
    if "lru_cache" in holder:
        return (
            f"no cache on what has a graph: compute it once a step and pass it on, or cache_clear() each step; {remedy}"
        )
    if "traceback" in holder:
        return f"keep str(error) in place of the exception, or error.with_traceback(None); {remedy}"
    return remedy


def put_away(flow: Flow, name: str, made_at: SourceLine | None) -> SourceLine | None:
    """Return the line that keeps a result: puts it, or what ``step(...)`` returns, away, or gives it to who does."""
    spelling = flow.spelling
    found = spelling.appending(name, made_at) or (made_at and spelling.appending(made_at.function, made_at))
    return found or spelling.handing(name, made_at)
