"""How a program calls its optimizers, and which of its lines gave them a rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...program.places import SourceLine
from ..text.spelling import receiver
from .flow import Flow
from .ledger import Optimizer, Step


def stepped_by(flow: Flow, row: int) -> str:
    """Return the program's name for the optimizer of an event."""
    return optimizer_name(flow, flow.ledger.optimizers[flow.events[row].data.get("owner")])


def optimizer_name(flow: Flow, optimizer: Optimizer) -> str:
    """Return the program's name for an optimizer: the variable on which ``step`` or ``zero_grad`` is called.

    That of a loop over several of them names none: then the one that it was made as.
    """
    called = _called(flow, optimizer)
    alike = [one for one in flow.ledger.optimizers.values() if _called(flow, one) == called]
    return (called if len(alike) == 1 else "") or _assigned(flow, optimizer.event.source) or called or "optimizer"


def _called(flow: Flow, optimizer: Optimizer) -> str:
    """Return the names in lines that step or clear an optimizer."""
    sources = [step.event.source for step in optimizer.steps[:1]]
    sources += [flow.events[row].source for row in optimizer.clears[:1]]
    for source, method in [(source, method) for source in sources for method in ("step", "zero_grad")]:
        if found := receiver(flow.spelling.text(source), method):
            return found
    return ""


def _assigned(flow: Flow, source: SourceLine | None) -> str:
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
