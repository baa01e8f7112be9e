"""Parameters whose group has a learning rate of zero in every step, so that their gradients move nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...snapshot import SourceLine
from ..base import Case, Check
from ..recorded.flow import Flow
from ..words import at, listed, times


@dataclass(slots=True)
class _Rates:
    """The learning rates that the steps of all optimizers had for one leaf."""

    made: int
    """The row that made the first optimizer which holds it."""
    group: int
    rates: list[object] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each group that no step moved, although gradients arrived for it.

    A single step proves nothing: schedules begin or end at zero.
    """
    idle: dict[tuple[int, int], list[int]] = {}
    rates = _rates(flow)
    for leaf, had in rates.items():
        still = len(had.rates) > 1 and all(rate == 0 and rate is not None for rate in had.rates)
        if still and leaf in flow.accumulated and not _moved_otherwise(flow, leaf):
            idle.setdefault((had.made, had.group), []).append(leaf)
    for leaves in idle.values():
        yield _case(flow, leaves, rates[leaves[0]])


CHECK = Check("unused", {}, find)


def _moved_otherwise(flow: Flow, leaf: int) -> bool:
    """Whether the program itself writes into a leaf once it has a gradient."""
    first = flow.accumulated[leaf][0]
    return flow.written_after(leaf, first) or any(row > first for row in flow.leaf_events.get((leaf, "written"), ()))


def _rates(flow: Flow) -> dict[int, _Rates]:
    """Return leaf -> the rates of the steps of whatever holds it."""
    found: dict[int, _Rates] = {}
    for row in flow.optimizer_steps:
        data = flow.events[row].data
        settings = data.get("settings") or []
        for place, leaf in data.get("parameters", {}).items():
            group = int(place.partition(".")[0])
            had = found.setdefault(leaf, _Rates(flow.optimized[leaf], group))
            had.rates.append(settings[group].get("lr") if group < len(settings) else None)
            had.rows.append(row)
    return found


def _case(flow: Flow, leaves: list[int], had: _Rates) -> Case:
    """Return the case of one group."""
    names = listed(flow.name(leaf) for leaf in leaves)
    it = ("gets a gradient", "it", "its") if len(leaves) == 1 else ("get gradients", "them", "their")
    made = flow.events[had.made]
    first = (made.data.get("settings") or [{}] * (had.group + 1))[had.group].get("lr") if made.data else None
    set_to_zero = made.data.get("action") == "made" and first == 0
    source = _line_of_rate(flow, made.source) if set_to_zero else flow.events[had.rows[0]].source
    return Case(
        kind="optimizer-mismatch",
        message=f"{names} {it[0]}, but {it[2]} group has lr=0{at(source)} in all {times(len(had.rows))} that the "
        f"optimizer steps: nothing ever moves {it[1]}.",
        remedy=f"give the group a learning rate above 0, or freeze {it[1]} with requires_grad_(False), which also "
        "saves the time for the gradients",
        source=source,
        op=made.data.get("type", ""),
        severity="warning",
        subjects=frozenset(leaves),
        evidence={"idle": [flow.name(leaf) for leaf in leaves], "steps": len(had.rows)},
    )


def _line_of_rate(flow: Flow, made: SourceLine | None) -> SourceLine | None:
    """Return the line, of the statement that makes an optimizer, which writes a rate of zero."""
    for one in flow.spelling.statements(made) if made else ():
        if made is None or not one.first <= made.line <= one.last:
            continue
        for node in ast.walk(one.tree):
            for name, value in _settings_written(node):
                if name == "lr" and isinstance(value, ast.Constant) and value.value == 0:
                    return SourceLine(made.file, one.first + value.lineno - 1, made.function)
    return made


def _settings_written(node: ast.AST) -> Iterator[tuple[object, ast.expr]]:
    """Yield the names and values that a dictionary or a call writes."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value
    elif isinstance(node, ast.Call):
        yield from ((word.arg, word.value) for word in node.keywords)
