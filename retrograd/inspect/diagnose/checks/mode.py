"""Tensors in the wrong mode: made for inference and wanted in a graph, or in a graph and wanted by NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...events import Event
from ...snapshot import SourceLine
from ..base import Case, Check, Kind, Stage
from ..phrases import INFERENCE, NUMPY, VIEW_INFERENCE
from ..recorded.flow import Flow
from ..statements.spelling import argument, is_call, is_name, receivers_of
from ..words import at

KINDS = {
    "inference-tensor": Kind("a tensor made under `inference_mode` in a recorded operation", "error", Stage.STATEMENT),
    "numpy-on-grad": Kind("`numpy()` of a tensor that has a history", "error", Stage.STATEMENT),
}


_ARRAYS = frozenset({"asarray", "array", "ascontiguousarray", "mean", "sum", "concatenate", "stack", "plot", "scatter"})
"""Functions that turn what they are given into an array."""
_COMPUTING = ("operation", "cut", "inplace")


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the exception that ended the program, if it is one of this family."""
    if NUMPY in flow.error_text:
        yield _to_numpy(flow)
    elif INFERENCE in flow.error_text and VIEW_INFERENCE not in flow.error_text:
        yield _inference(flow)


CHECK = Check("mode", KINDS, find)


def _detached(line: str, name: str) -> str:
    """Return a line with ``detach()`` behind what it makes an array of."""
    if f"{name}.numpy()" in line:
        return line.replace(f"{name}.numpy()", f"{name}.detach().numpy()", 1)
    if ".numpy()" in line:
        return line.replace(".numpy()", ".detach().numpy()", 1)
    functions = "|".join(sorted(_ARRAYS))
    other = re.sub(rf"\b({functions})\(\s*{re.escape(name)}(?=[,)\s])", rf"\1({name}.detach()", line, count=1)
    return other if other != line else f"{name if name.isidentifier() else 'tensor'}.detach().numpy()"


def _to_numpy(flow: Flow) -> Case:
    """Return the case of ``numpy()`` on a tensor that requires grad."""
    source = flow.error.source if flow.error else None
    line = flow.spelling.text(source)
    receivers = receivers_of(line, "numpy")
    name = next((one for one in receivers if _maker(flow, one) is not None), next(iter(receivers), ""))
    name = name or argument(line, _ARRAYS) or "the tensor"
    made = _maker(flow, name)
    history = f" (the result of {flow.events[made].op}{at(flow.events[made].source)})" if made is not None else ""
    return Case(
        kind="numpy-on-grad",
        message=f"{name}{history} requires grad, and an array{at(source)} cannot carry its history: numpy() needs "
        "detach() first.",
        remedy=_detached(line, name),
        source=source,
        op="numpy",
        explains_error=True,
    )


def _maker(flow: Flow, name: str) -> int | None:
    """Return the last call that gave a history to a tensor of this name."""
    rows = [
        row
        for tensor in range(len(flow.tensors))
        if name in flow.spelling.names(tensor)
        for row in flow.made_in.get(tensor, ())
        if flow.has_node(row)
    ]
    return max(rows, default=None)


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
    """Return the call under inference mode that made what the refused call took, or what that is a part or view of."""
    todo = [] if (refused := _refused(flow)) is None else [(given, refused) for given in flow.inputs(refused)]
    seen = {given for given, _ in todo}
    for tensor, before in todo:
        made = next((row for row in reversed(flow.made_in.get(tensor, ())) if row < before), None)
        if made is not None and _for_inference(flow.events[made]):
            return made
        if made is not None and not flow.has_node(made) and flow.events[made].op != "clone":
            fresh = [given for given in flow.inputs(made) if given not in seen]
            seen.update(fresh)
            todo += ((given, made) for given in fresh)
    return None


def _refused(flow: Flow) -> int | None:
    """Return the last call that raised the exception of inference tensors."""
    rows = (row for kind in _COMPUTING for row in flow.rows.get(kind, ()))
    return max((row for row in rows if INFERENCE in str(flow.events[row].data.get("error", ""))), default=None)


def _taken_as(flow: Flow, made: list[int]) -> str:
    """Return how the refused call spells what a call made, if it took that itself: ``stats["scale"]``."""
    refused = _refused(flow)
    return "" if refused is None else next(filter(None, (flow.spelling.spelled(one, refused) for one in made)), "")


def _entry(flow: Flow, row: int) -> tuple[SourceLine | None, str]:
    """Return the line that made an inference tensor: the call of a decorated function, or the operation's own."""
    for frame in flow.events[row].data.get("stack", ()):
        if frame.get("grad_off") == "inference_mode" and frame.get("callee"):
            line = SourceLine(frame.get("file", ""), frame.get("line", 0), frame.get("function", ""))
            return line, frame["callee"]
    return flow.events[row].source, ""
