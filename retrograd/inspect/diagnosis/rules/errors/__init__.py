"""Exceptions out of autograd: the rows that fit one, and its finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ....program.places import SourceLine
from ...base import Case, Check, Kind, Stage
from ...facts.failures import Raised, raised
from ...facts.flow import Flow
from .of_functions import OF_FUNCTIONS, OF_TRANSFORMS
from .of_passes import OF_BACKWARD, OF_DERIVATIVES, OF_PROCESSES
from .of_setup import OF_SETUP
from .of_tensors import OF_LOSSES, OF_TENSORS, OF_WRITES
from .row import Row
from .scene import Scene

# All rows; the first that matches counts.

ROWS = (
    *OF_SETUP,
    *OF_PROCESSES,
    *OF_BACKWARD,
    *OF_DERIVATIVES,
    *OF_TENSORS,
    *OF_LOSSES,
    *OF_WRITES,
    *OF_FUNCTIONS,
    *OF_TRANSFORMS,
)


# Finds the row of an exception that autograd raised; one without a row is reported with all that is known of it.

KINDS = {
    "refused-backward": Kind("backward or `autograd.grad` is given what it cannot start from", "error", Stage.COST),
    "refused-call": Kind("autograd refuses a call on a tensor as it is", "error", Stage.COST),
    "refused-write": Kind("autograd refuses a write in place", "error", Stage.COST),
    "no-derivative": Kind("an operation has no derivative of the sort that was asked for", "error", Stage.COST),
    "wrong-function": Kind("a custom Function breaks the rules of its class", "error", Stage.COST),
    "failed-backward": Kind("an exception ended a backward pass", "error", Stage.COST),
    "numpy-on-grad": Kind("`numpy()` of a tensor that has a history", "error", Stage.STATEMENT),
    "refused-setup": Kind("an optimizer, a schedule or a module refuses what it is given", "error", Stage.COST),
    "failed-transform": Kind("a transform of `torch.func` refuses the function", "error", Stage.COST),
}
"""Most come last: what another check knows of the same exception says more."""

_OF_AUTOGRAD = re.compile(
    r"requires?[_ ]grad|gradient|autograd|automatic differentiation|derivative|[Bb]ackward|leaf [Vv]ariable|non-leaf"
    r"|functorch|vmap|forward AD|checkpoint|version counter|inference tensor|\bgrad\b"
)
"""Words by which exceptions of autograd are recognised."""
_HISTORY = re.compile(r"\b(?:grad_fn=<\w+>|requires_grad=True)")
"""How a tensor's text in a message shows that it has a history."""
_LIBRARIES = ("torch.autograd", "torch.func", "torch._functorch", "torch.utils.checkpoint", "torch.amp", "torch.optim")
"""Modules of PyTorch whose exceptions are autograd's."""

_OF_PYTHON = frozenset({"AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "UnboundLocalError"})
"""Exceptions that Python itself raises, too, for any object."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the exception that ended the program, or of those out of backward passes that it caught."""
    reported = set()
    for one in raised(flow):
        row, groups = _row_of(one, _surroundings(flow, one))
        if row is not None and _is_autograds(one):
            case = _case(flow, one, row, groups)
        elif _is_autograds(one, unknown=True):
            case = _unknown(flow, one)
        else:
            continue
        if (case.kind, case.source) not in reported:
            reported.add((case.kind, case.source))
            yield case


CHECK = Check("errors", KINDS, find)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Row], ...]:
    return tuple((re.compile(row.pattern, re.DOTALL), row) for row in ROWS)


def _surroundings(flow: Flow, one: Raised) -> list[str]:
    """Return the modules that raised an exception or called what did, and the transforms that it ended."""
    last = flow.rows.get("transform", ())[-1:] if one.ended else ()
    applied = [f"within {call[0]}" for row in last for call in flow.events[row].data.get("applied", ())]
    return [str(one.data.get("raised_in", "")), *one.data.get("through", ()), *applied]


def _row_of(one: Raised, surroundings: list[str]) -> tuple[Row | None, dict[str, str]]:
    """Return the row of an exception and its groups' values."""
    for pattern, row in _patterns():
        found = pattern.search(one.full_text)
        if found and (not row.within or any(re.search(row.within, place) for place in surroundings)):
            groups = {name: value for name, value in found.groupdict().items() if value is not None}
            for name in ("found", "op", "name"):
                if name not in groups and "other" in groups:
                    groups[name] = groups["other"]
            return row, groups
    return None, {}


def _is_autograds(one: Raised, *, unknown: bool = False) -> bool:
    """Whether autograd raised it: a backward pass ended with it, or a library did, in its words if it has no row."""
    if one.run is not None:
        return True
    if one.data.get("by_program"):
        return False
    library, in_its_words = str(one.data.get("raised_in", "")), bool(_OF_AUTOGRAD.search(_HISTORY.sub("", one.text)))
    if one.type in _OF_PYTHON:
        return library.startswith(_LIBRARIES if unknown else ("torch.", "retrograd.")) or (in_its_words and not unknown)
    return not unknown or library.startswith(_LIBRARIES) or in_its_words


def _case(flow: Flow, one: Raised, row: Row, groups: dict[str, str]) -> Case:
    """Return the case of an exception that has a row."""
    scene = Scene(flow, one, groups)
    scene.choose(row.about)
    return Case(
        kind=row.kind,
        message=row.says.format_map(scene),
        remedy=row.fix.format_map(scene),
        source=_line_of(scene, row.line),
        op=scene.call,
        subjects=frozenset() if scene.chosen is None else frozenset({scene.chosen}),
        explains_error=one.ended,
        severity="error" if one.ended or one.lost else "note",
        marks=flow.marks(one.run, [scene.node_row], "failed here") if scene.node_row is not None else (),
        evidence={"exception": one.text[:500], "type": one.type},
    )


def _line_of(scene: Scene, where: str) -> SourceLine | None:
    """Return the line of the cause, which a row names."""
    raised = scene.raised
    row = {"made": scene.made_row, "node": scene.node_row, "op": scene.op_row}.get(where)
    if row is not None:
        return scene.flow.events[row].source
    event = {"hook": scene.hook_event, "checkpoint": scene.checkpoint_event}.get(where)
    if event is not None:
        return event.source
    found = {"backward": scene.backward_line, "forward": scene.forward_line}.get(where)
    passed = raised.run.source if where == "pass" and raised.run is not None else None
    made = scene.made_row if raised.lost else None
    return found or passed or raised.line or (None if made is None else scene.flow.events[made].source)


def _unknown(flow: Flow, one: Raised) -> Case:
    """Return the case of an exception without a row: which call, on which tensors, in which pass and module."""
    scene = Scene(flow, one, {})
    scene.choose("first")
    if one.run is not None:
        where = f"the backward pass of {scene.loss}{scene.passed} ended"
        where += f" in {scene.hook}{scene.hooked}" if scene.in_hook else f" at {scene.function_or_node}"
        where += (
            f"{scene.inside}, in line{scene.here.replace(' at ', ' ')}" if one.line != one.run.source else scene.inside
        )
        kind, fix = "failed-backward", "look at the shapes and dtypes of what that call was given, and at its backward"
    else:
        where = f"{scene.call}{scene.on_operands}{scene.inside} failed{scene.here}"
        kind, fix = "refused-call", "see what the exception says of these tensors"
    return Case(
        kind=kind,
        message=f"{where}: {one.type}: {scene.message}.",
        remedy=fix,
        source=one.line,
        op=scene.call,
        explains_error=one.ended,
        severity=None if one.ended or one.lost else "note",
        marks=flow.marks(one.run, [scene.node_row], "failed here") if scene.node_row is not None else (),
        evidence={"exception": one.text[:500], "type": one.type},
    )
