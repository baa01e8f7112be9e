"""Tensors made for inference and wanted in a graph."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.nodes import switch_around
from ..text.phrases import INFERENCE, VIEW_INFERENCE
from ..text.spelling import is_call, is_name
from ..text.words import at

KINDS = {
    "inference-tensor": Kind("a tensor made under `inference_mode` in a recorded operation", "error", Stage.STATEMENT),
}


_COMPUTING = ("operation", "cut", "inplace")


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the exception that ended the program, if it is one of this family."""
    if INFERENCE in flow.error_text and VIEW_INFERENCE not in flow.error_text:
        yield _inference(flow)


CHECK = Check("mode", KINDS, find)


def _inference(flow: Flow) -> Case:
    """Return the case of an inference tensor in a graph."""
    error = flow.error.source if flow.error else None
    row = _made_for_inference(flow, error)
    source, callee = (_entry(flow, row)) if row is not None else (error, "")
    outputs = flow.events[row].data.get("outputs", []) if row is not None else []
    name = flow.spelling.result_of(source, callee) if callee else ""
    name = name or _taken_as(flow, outputs) or (flow.name(outputs[0], error) if outputs else "a tensor")
    copy = f"{name}.clone()" if is_name(name) or is_call(name) else "a clone() made"
    how = (
        f"{callee}, which runs under @torch.inference_mode(),"
        if callee
        else "an operation under torch.inference_mode()"
    )
    return Case(
        kind="inference-tensor",
        message=f"{name} was made by {how}{at(source)}; an inference tensor cannot take part in a graph, as it does"
        f"{at(error)}.",
        remedy=f"use torch.no_grad() in place of inference_mode, or {copy} outside of it",
        source=source,
        op=flow.events[row].op if row is not None else "",
        explains_error=True,
    )


def _made_for_inference(flow: Flow, error: SourceLine | None) -> int | None:
    """Return the call under inference mode whose result the failing call took, or its line names, or the last one."""
    rows = [row for kind in _COMPUTING for row in flow.rows.get(kind, ()) if _for_inference(flow.events[row])]
    if (taken := _behind_refused(flow)) is not None:
        return taken
    line = flow.spelling.text(error)
    for row in sorted(rows, reverse=True):
        names = {n for out in flow.events[row].data.get("outputs", ()) for n in flow.spelling.names(out)}
        if any(name in line for name in names):
            return row
    return max(rows, default=None)


def _for_inference(event: Event) -> bool:
    """Whether a call ran under inference mode."""
    return bool(event.data.get("inference")) or event.data.get("reason") == "inference"


def _behind_refused(flow: Flow) -> int | None:
    """Return the call under inference mode that made the failed call's operand, or its base."""
    todo = [] if (refused := _refused(flow)) is None else [(given, refused) for given in flow.inputs(refused)]
    seen = {given for given, _ in todo}
    for tensor, before in todo:
        made = next((row for row in reversed(flow.made_in.get(tensor, ())) if row < before), None)
        if made is not None and _for_inference(flow.events[made]):
            return made
        if made is not None and not flow.has_node(made) and not flow.does(made, Trait.COPY):
            fresh = [given for given in flow.inputs(made) if given not in seen]
            seen.update(fresh)
            todo += ((given, made) for given in fresh)
    return None


def _refused(flow: Flow) -> int | None:
    """Return the last call that raised the exception of inference tensors."""
    rows = (row for kind in _COMPUTING for row in flow.rows.get(kind, ()))
    return max((row for row in rows if INFERENCE in str(flow.events[row].data.get("error", ""))), default=None)


def _taken_as(flow: Flow, made: list[int]) -> str:
    """Return how the failed call spells a call's result, if that is its operand: ``stats["scale"]``."""
    refused = _refused(flow)
    return "" if refused is None else next(filter(None, (flow.spelling.spelled(one, refused) for one in made)), "")


def _entry(flow: Flow, row: int) -> tuple[SourceLine | None, str]:
    """Return the line that made an inference tensor: the call of a decorated function, or the operation's own."""
    switch = switch_around(flow, row)
    if switch is not None and switch.data.get("callee"):
        return switch.source, switch.data["callee"]
    return flow.events[row].source, ""
