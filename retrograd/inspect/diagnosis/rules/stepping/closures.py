"""Closures of optimizers, and the names of what is stepped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....program.places import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...facts.ledger import Optimizer, Step
from ...text.spelling import receiver
from ...text.words import at, counted, listed

# How sentences call an optimizer, and the line that gave it its rate.


def optimizer_name(flow: Flow, optimizer: Optimizer) -> str:
    """Return the program's name for an optimizer: the variable on which ``step`` or ``zero_grad`` is called.

    That of a loop over several of them names none: then the one that it was made as.
    """
    called = _called(flow, optimizer)
    alike = [one for one in flow.ledger.optimizers.values() if _called(flow, one) == called]
    return (called if len(alike) == 1 else "") or assigned(flow, optimizer.event.source) or called or "optimizer"


def _called(flow: Flow, optimizer: Optimizer) -> str:
    """Return the names in lines that step or clear an optimizer."""
    sources = [step.event.source for step in optimizer.steps[:1]]
    sources += [flow.events[row].source for row in optimizer.clears[:1]]
    for source, method in [(source, method) for source in sources for method in ("step", "zero_grad")]:
        if found := receiver(flow.spelling.text(source), method):
            return found
    return ""


def assigned(flow: Flow, source: SourceLine | None) -> str:
    """Return the variable to which a line assigns its result."""
    before, equals, _ = flow.spelling.text(source).partition("=")
    name = before.strip()
    return name if equals and name.replace(".", "").replace("_", "").isalnum() else ""


def line_of_rate(flow: Flow, optimizer: Optimizer, step: Step, leaf: int) -> SourceLine | None:
    """Return the line that gave a leaf the rate of a step: the last that set it, or that of the optimizer's making."""
    made = optimizer.event.source
    written = _line_of_setting(flow, made, "lr", step.setting(leaf, "lr")) if made else None
    return step.settings_line or written or made or step.event.source


def _line_of_setting(flow: Flow, made: SourceLine, setting: str, value: object) -> SourceLine | None:
    """Return the line, of the statement that makes an optimizer, which writes a setting as this number."""
    for one in flow.spelling.statements(made):
        if not one.first <= made.line <= one.last:
            continue
        for node in ast.walk(one.tree):
            for name, given in _settings_written(node):
                if name == setting and isinstance(given, ast.Constant) and given.value == value:
                    return SourceLine(made.file, one.first + given.lineno - 1, made.function)
    return None


def _settings_written(node: ast.AST) -> Iterator[tuple[object, ast.expr]]:
    """Yield the names and values that a dictionary or a call writes."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value
    elif isinstance(node, ast.Call):
        yield from ((word.arg, word.value) for word in node.keywords)


# Closures of optimizers that clear the gradients they computed, or leave the old ones in place.


def closures(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that steps with a closure after which nothing, or too much, is in ``.grad``."""
    reported: set[SourceLine | None] = set()
    for step in flow.ledger.steps:
        if step.calls and step.event.source not in reported:
            case = _cleared(flow, step) or _kept(flow, step)
            if case is not None:
                reported.add(step.event.source)
                yield case


def _segments(step: Step) -> Iterator[tuple[int, int, set[int]]]:
    """Yield for each call of a closure the range of its events, and which leaves it left without a gradient."""
    before = step.row
    for row, event in step.calls:
        yield before, row, {*event.data.get("without", ()), *event.data.get("zero", ())}
        before = row


def _cleared(flow: Flow, step: Step) -> Case | None:
    """Return the case of a closure that each time leaves nothing of the gradients that arrived in it."""
    lost: list[set[int]] = []
    for begin, end, empty in _segments(step):
        arrived = {leaf for leaf in step.held if any(map(flow.ledger.brings, flow.ledger.arrivals(leaf, begin, end)))}
        lost.append(arrived & empty)
        if not arrived or arrived - empty:
            return None
    leaves = sorted(set.intersection(*lost))
    if not leaves:
        return None
    clearing = flow.events[flow.ledger.cleared_at(leaves[0], step.calls[0][0])]
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    return Case(
        kind="cleared-gradient",
        message=f"the closure of the step{at(step.event.source)} computes gradients and clears them again"
        f"{at(clearing.source)}, before it returns: the optimizer finds nothing in {names}.",
        remedy="in the closure first zero_grad(), then the loss, then backward(), then return the loss",
        source=clearing.source,
        op=clearing.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(step.calls)},
    )


def _kept(flow: Flow, step: Step) -> Case | None:
    """Return the case of a closure whose later calls add their gradients to those of the calls before."""
    leaves, first = [], -1
    for leaf in step.held:
        for begin, end, _ in list(_segments(step))[1:]:
            arrivals = flow.ledger.arrivals(leaf, begin, end)
            if arrivals and flow.events[arrivals[0]].data.get("before") == "kept":
                leaves.append(leaf)
                first = arrivals[0]
                break
    if not leaves:
        return None
    run = next((run for run in flow.runs if run.begin < first <= run.end), None)
    names = listed(f"{flow.name(leaf)}.grad" for leaf in leaves)
    return Case(
        kind="missing-zero-grad",
        message=f"the step{at(step.event.source)} calls its closure {counted(len(step.calls), 'time')}, and each call "
        f"adds to what the one before left in {names}: nothing clears the gradients in it.",
        remedy="zero_grad() at the beginning of the closure",
        source=run.source if run else step.event.source,
        op="backward",
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "calls": len(step.calls)},
    )
