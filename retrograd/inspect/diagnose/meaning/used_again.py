"""A part of a module that a program uses twice beside one of its kind that it never uses: a name that was copied."""

from __future__ import annotations

from typing import NamedTuple

from ...snapshot import SourceLine
from ..recorded.flow import Flow
from ..recorded.runs import Run


class Again(NamedTuple):
    """What is used twice, and where."""

    leaf: int
    first: SourceLine
    line: SourceLine


def used_again(flow: Flow, leaf: int, run: Run | None) -> Again | None:
    """Return the one parameter like an unused one, of the same module, that a run's graph takes at two lines."""
    calls = flow.reached_by(run).calls if run is not None else set()
    found = []
    for one in _alike(flow, leaf):
        rows = sorted(calls.intersection(flow.used_in.get(one, ())))
        lines = list(dict.fromkeys(source for row in rows if (source := flow.events[row].source) is not None))
        if len(lines) > 1 and lines[0].function == lines[-1].function:
            found.append(Again(one, lines[0], lines[-1]))
    return found[0] if len(found) == 1 else None


def _alike(flow: Flow, leaf: int) -> list[int]:
    """Return the parameters of the same shape and last name that modules hold beside a leaf: ``fc1.weight``."""
    found: list[int] = []
    for _, event in flow.of_kind("module"):
        named = event.data.get("parameters", {})
        names = [name for name, one in named.items() if one == leaf]
        for name, one in named.items() if names else ():
            parts, own = name.split("."), names[0].split(".")
            beside = parts[:-2] == own[:-2] and parts[-1] == own[-1] and len(parts) == len(own)
            if one != leaf and beside and flow.facts(one).shape == flow.facts(leaf).shape:
                found.append(one)
    return found
