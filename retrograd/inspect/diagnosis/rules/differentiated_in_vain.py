"""Transforms of ``torch.func`` with respect to arguments that the function never uses: all results are zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.words import at, named


class _Stretch(NamedTuple):
    """The calls inside one transform, and the tensors it differentiates with respect to."""

    name: str
    line: SourceLine | None
    begin: int
    end: int
    given: tuple[int, ...]


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose transforms all differentiate with respect to something unused."""
    by_line: dict[SourceLine | None, list[_Stretch]] = {}
    for stretch in _stretches(flow):
        by_line.setdefault(stretch.line, []).append(stretch)
    for stretches in by_line.values():
        if all(stretch.given and not any(_takes(flow, one) for one in stretch.given) for stretch in stretches):
            yield _case(flow, stretches[-1])


CHECK = Check("unused", {}, find)


def _stretches(flow: Flow) -> Iterator[_Stretch]:
    """Yield first derivatives; a function of several derivatives may well lose its argument in one."""
    since, opened = -1, None
    for row, event in flow.of_kind("transform"):
        levels = [level for level in event.data.get("levels", ()) if level != "vmap"]
        if event.data.get("action") == "left" and not event.data.get("levels"):
            if opened is not None:
                begin, name, line = opened
                yield _Stretch(name, line, begin, row, _switched_on(flow, line, since, row))
            since, opened = row, None
        elif len(levels) == 1 and opened is None and event.data.get("applied"):
            opened = row, levels[0], SourceLine(*event.data["applied"][-1][1:4])
        elif levels:
            opened = None


def _switched_on(flow: Flow, line: SourceLine | None, begin: int, end: int) -> tuple[int, ...]:
    """Return the tensors that a line let require gradients between two rows."""
    rows = (row for row, event in flow.of_kind("leaf", change="requires_grad") if begin < row < end)
    events = [flow.events[row] for row in rows]
    return tuple(event.data["tensor"] for event in events if event.source == line and event.data.get("value"))


def _takes(flow: Flow, tensor: int) -> bool:
    """Whether a call takes the values of a tensor, and not its shape alone."""
    return any(flow.outputs(row) and not flow.does(row, Trait.LIKE) for row in flow.used_in.get(tensor, ()))


def _case(flow: Flow, stretch: _Stretch) -> Case:
    """Return the case of one line, at the call that computes with parameters in place of what it was given."""
    calls = [
        row for kind in ("operation", "cut") for row in flow.rows.get(kind, ()) if stretch.begin < row < stretch.end
    ]
    used = {one for row in calls for one in flow.inputs(row) if flow.facts(one).parameter}
    shapes = [Counter(flow.facts(one).shape for one in some) for some in (stretch.given, used)]
    instead = bool(used) and shapes[0] == shapes[1]
    source = (
        _within(flow, min(row for row in calls if used.intersection(flow.inputs(row))), stretch) if instead else None
    )
    names = named(flow, sorted(used))
    how = f": it computes{at(source)} with {names} themselves" if instead else ""
    return Case(
        kind="unused-parameter",
        message=f"every gradient that torch.func takes{at(stretch.line)} is zero: the function never "
        f"uses what it is differentiated by{how}.",
        remedy="call the module with what the function is given: torch.func.functional_call(module, params, args)"
        if instead
        else "use that argument in the function, or choose with argnums the one that it uses",
        source=source or stretch.line,
        op=stretch.name,
        evidence={"computed with": sorted(map(flow.name, used))},
    )


def _within(flow: Flow, row: int, stretch: _Stretch) -> SourceLine | None:
    """Return the line of the differentiated function from which a call was reached."""
    lines = flow.lines(row)
    place = lines.index(stretch.line) if stretch.line in lines else len(lines)
    return lines[max(place - 1, 0)] if lines else None
