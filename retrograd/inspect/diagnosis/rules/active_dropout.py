"""Dropout that is on in modules which are in evaluation mode: it is a function, which follows no module's mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...operators import Trait, is_a
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import draws_numbers
from ..facts.flow import Flow
from ..text.spelling import called
from ..text.words import at

KINDS = {
    "active-dropout": Kind("dropout is on in a module that is in evaluation mode", "warning", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that drops entries in evaluation without saying so."""
    reported = set()
    for kind in ("operation", "cut"):
        for row, event in flow.of_kind(kind, evaluating=True):
            place = event.source, event.op
            if place not in reported and _drops(flow, row) and not _is_said(flow, row):
                reported.add(place)
                yield _case(flow, row)


CHECK = Check("mode", KINDS, find)


def _drops(flow: Flow, row: int) -> bool:
    """Whether a call drops entries, by its arguments: the module's mode is not one of them."""
    event = flow.events[row]
    return draws_numbers(event) if flow.does(row, Trait.DROPOUT) else bool(_share(flow, row))


def _share(flow: Flow, row: int) -> float | None:
    """Return the share of entries that a call drops, None if unknown."""
    arguments = flow.events[row].data.get("arguments") or {}
    found = next((arguments[key] for key in ("dropout_p", "p", "1") if key in arguments), None)
    return float(found) if isinstance(found, int | float) else None


def _is_said(flow: Flow, row: int) -> bool:
    """Whether the line says explicitly that a dropout is active: ``training=True`` is intentional."""
    tree = flow.spelling.statement(flow.events[row].source)
    if tree is None or not flow.does(row, Trait.DROPOUT):
        return tree is None
    dropping = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and is_a(called(one), Trait.DROPOUT)]
    return not dropping or any(map(_says_mode, dropping))


def _says_mode(call: ast.Call) -> bool:
    """Whether a call has more arguments than a tensor and a share."""
    keywords = {one.arg for one in call.keywords}
    spread = any(isinstance(one, ast.Starred) for one in call.args)
    return bool(call.args[2:]) or spread or not keywords <= {"input", "p", "inplace"}


def _case(flow: Flow, row: int) -> Case:
    """Return the case of one line."""
    event, share, function = flow.events[row], _share(flow, row), flow.does(row, Trait.DROPOUT)
    module = event.data.get("scope", "").rpartition("/")[2] or "the module around it"
    drops = "drops entries" if share is None else f"drops {share:.0%} of the entries"
    remedy = "training=self.training" if function else "dropout_p=p if self.training else 0.0"
    return Case(
        kind="active-dropout",
        message=f"{event.op}{at(event.source)} {drops} although {module} is in evaluation mode: the function does not "
        "follow the mode of a module, so what comes out in evaluation is left to chance.",
        remedy=f"{remedy} in this call" + (", or nn.Dropout as a layer" if function else ""),
        source=event.source,
        op=event.op,
        because=(f"{module}.training is False at this call", "the call drops entries, and does not say that it is to"),
        evidence={"p": share},
    )
