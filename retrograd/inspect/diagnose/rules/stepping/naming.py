"""How sentences call an optimizer."""

from __future__ import annotations

from ....snapshot import SourceLine
from ...facts.flow import Flow
from ...facts.ledger import Optimizer
from ...text.spelling import receiver


def optimizer_name(flow: Flow, optimizer: Optimizer) -> str:
    """Return what the program calls an optimizer: the variable that its steps or clearings are called on."""
    sources = [step.event.source for step in optimizer.steps[:1]]
    sources += [flow.events[row].source for row in optimizer.clears[:1]]
    for source, method in [(source, method) for source in sources for method in ("step", "zero_grad")]:
        if found := receiver(flow.spelling.text(source), method):
            return found
    return assigned(flow, optimizer.event.source) or "optimizer"


def assigned(flow: Flow, source: SourceLine | None) -> str:
    """Return the variable that a line gives what it makes."""
    before, equals, _ = flow.spelling.text(source).partition("=")
    name = before.strip()
    return name if equals and name.replace(".", "").replace("_", "").isalnum() else ""
