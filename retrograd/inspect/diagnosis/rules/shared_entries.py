"""Writes into part of an expanded tensor, or into overlapping windows, which raise no error: entries share memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...operators import Trait
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.spelling import written_name
from ..text.words import at, shape_text


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each call that expanded a tensor of which a part was then written."""
    reported = set()
    for rows in list(flow.writes_to.values()):
        for write in rows:
            made = _expanded(flow, write)
            if made is not None and flow.events[made].source not in reported:
                reported.add(flow.events[made].source)
                yield _case(flow, made, write)


CHECK = Check("inplace", {}, find)


def _expanded(flow: Flow, write: int) -> int | None:
    """Return the call that expanded the memory, part of which a write targets."""
    tensor, before, part = flow.target(write), write, flow.does(write, Trait.INDEXING)
    while tensor is not None and flow.facts(tensor).view_of is not None:
        made = max((row for row in flow.made_in.get(tensor, ()) if row < before), default=None)
        given = None if made is None else _seen_through(flow, tensor, made)
        if made is None or given is None:
            return None
        size, had = (prod(flow.facts(one).shape) for one in (tensor, given))
        if flow.does(made, Trait.EXPANDING) and size > had:
            if _repeats(flow, tensor):
                return made if part else None
            constant = flow.does(write, Trait.CLEARING)  # such a write may reach an entry as often as it likes
            return made if (_is_read_elsewhere(flow, tensor, write) if part else not constant) else None
        tensor, before, part = given, made, part or size < had
    return None


def _repeats(flow: Flow, view: int) -> bool:
    """Whether a view goes over its entries several times along a dimension; windows lie over one another otherwise."""
    facts = flow.facts(view)
    return facts.layout is None or any(
        not stride and size > 1 for stride, size in zip(facts.layout[1:], facts.shape, strict=False)
    )


def _is_read_elsewhere(flow: Flow, windows: int, write: int) -> bool:
    """Whether another line reads windows after one of them was written: only then the others' change shows.

    Who cuts out windows that do not overlap, writes them and is done has changed nothing else.
    """
    line = flow.events[write].source
    return any(row > write and flow.events[row].source != line for row in flow.used_in.get(windows, ()))


def _seen_through(flow: Flow, view: int, made: int) -> int | None:
    """Return the argument of a call whose entries its returned view shows."""
    memory = flow.facts(view).storage
    return next((one for one in flow.inputs(made) if flow.facts(one).storage == memory), None)


def _case(flow: Flow, made: int, write: int) -> Case:
    """Return the case of one write, which changed more than it names."""
    event, source = flow.events[made], flow.events[made].source
    target = flow.target(write)
    whole = next(out for out in event.data["outputs"] if flow.facts(out).storage == flow.facts(target or 0).storage)
    given = _seen_through(flow, whole, made)
    written_at = flow.events[write].source
    written = written_name(flow.spelling.text(written_at))
    name = written.split("[")[0] or flow.name(whole, written_at)
    text = flow.spelling.text(source)
    effect = "reaches some of them several times" if target == whole else "changes other parts as well"
    shapes = [shape_text(flow.facts(one).shape) for one in (given, whole) if one is not None]
    return Case(
        kind="overlapping-inplace",
        message=f"{name} was made by {event.op}{at(source)} from a tensor of shape {' to '.join(shapes)}, so its "
        f"entries share memory: the write to {written or 'a part of it'}{at(written_at)} {effect}.",
        remedy=f"{text}.clone()"
        if f".{event.written}(" in text and text.endswith(")")
        else f"{name} = {name}.clone() before {written or 'a part of it'} is written to",
        source=source,
        op=event.op,
        subjects=frozenset({whole}),
        evidence={"written": list(written_at or ())},
    )
