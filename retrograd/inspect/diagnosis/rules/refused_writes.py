"""Writes that an exception refused: into overlapping memory, or into views made while gradients were off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...operators import Trait
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.hooks import hook_that_failed
from ..text.phrases import OVERLAPPING, VIEW_INFERENCE, VIEW_NO_GRAD
from ..text.spelling import written_name
from ..text.words import at, shape_text

KINDS = {
    "overlapping-inplace": Kind(
        "a write into an expanded tensor, whose entries share memory with each other", "error", Stage.STATEMENT
    ),
    "view-no-grad": Kind(
        "a view that was made under `no_grad` is changed in place while gradients are on", "error", Stage.STATEMENT
    ),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of the exception that ended the program, if it is one of this family."""
    if OVERLAPPING in flow.error_text and hook_that_failed(flow) is None:
        yield _overlapping(flow)
    if VIEW_NO_GRAD in flow.error_text or VIEW_INFERENCE in flow.error_text:
        yield _view(flow)


CHECK = Check("inplace", KINDS, find)


def _overlapping(flow: Flow) -> Case:
    """Return the case of a write whose target was made by ``expand``."""
    write = flow.error.source if flow.error else None
    row = _origin(flow, lambda call: flow.does(call, Trait.EXPANDING))
    source = flow.events[row].source if row is not None else write
    name = written_name(flow.spelling.text(write)).split("[")[0] or "the tensor"
    made = ""
    if row is not None:
        given, out = flow.inputs(row), flow.events[row].data.get("outputs", [])
        shapes = f" of shape {shape_text(flow.facts(given[0]).shape)}" if given else ""
        size = f" to {shape_text(flow.facts(out[0]).shape)}" if out else ""
        made = f" was made by {flow.events[row].op}{at(source)} from a tensor{shapes}{size}, so its entries"
    text = flow.spelling.text(source)
    op = flow.events[row].op if row is not None else "expand"
    return Case(
        kind="overlapping-inplace",
        message=f"{name}{made or ', made by expand,'} share memory with each other, and the write{at(write)} cannot "
        "change one of them alone.",
        remedy=f"{text}.clone()" if f".{op}(" in text and text.endswith(")") else f"add .clone() behind {op}(...)",
        source=source,
        op=op,
        explains_error=True,
    )


def _view(flow: Flow) -> Case:
    """Return the case of a write into a view that was made without gradients."""
    write = flow.error.source if flow.error else None
    mode = "inference_mode" if VIEW_INFERENCE in flow.error_text else "no_grad"
    row = _origin(flow, lambda call: _made_without_gradients(flow, call))
    source = flow.events[row].source if row is not None else write
    name = _changed(flow) or "the tensor"
    base = flow.name(flow.inputs(row)[0]) if row is not None and flow.inputs(row) else "another tensor"
    return Case(
        kind="view-no-grad",
        message=f"{name} is a view of {base} that was made under torch.{mode}{at(source)}; changing it in place"
        f"{at(write)} while gradients are on is ambiguous.",
        remedy=f"make the view outside of torch.{mode}(), or change a copy: {name} = {name}.clone()",
        source=source,
        op=flow.events[row].op if row is not None else "",
        explains_error=True,
    )


def _made_without_gradients(flow: Flow, row: int) -> bool:
    """Whether a call returned a view while gradients were off."""
    data = flow.events[row].data
    off = data.get("grad") is False or data.get("inference") or data.get("reason") in ("no_grad", "inference")
    return bool(off) and any(flow.facts(out).view_of is not None for out in data.get("outputs", ()))


def _origin(flow: Flow, wanted: Callable[[int], bool]) -> int | None:
    """Return the call, of the wanted sort, that the target of the refused write comes from."""
    text = _changed(flow).removesuffix(".data")
    named = _called(flow, text)
    for tensor in reversed(named):
        row = _among_views(flow, tensor, wanted)
        if row is not None:
            return row
    rows = [row for kind in ("operation", "cut") for row in flow.rows.get(kind, ()) if wanted(row)]
    return max(rows, default=None)


def _changed(flow: Flow) -> str:
    """Return the tensor that the refused write changes, or an entry of: ``x`` of ``x[0] += 1``.

    ``parts["low"]`` is the whole name if no tensor is called ``parts``, which is then a collection.
    """
    text = written_name(flow.spelling.text(flow.error.source if flow.error else None))
    whole = text.split("[")[0]
    return whole if _called(flow, whole.removesuffix(".data")) or not _called(flow, text) else text


def _called(flow: Flow, text: str) -> list[int]:
    """Return the tensors that go by a name."""
    return [t for t in range(len(flow.tensors)) if text and text in flow.spelling.names(t)]


def _among_views(flow: Flow, tensor: int | None, wanted: Callable[[int], bool]) -> int | None:
    """Follow a chain of views towards its base until a call is of the wanted sort."""
    seen = set()
    while tensor is not None and tensor not in seen:
        seen.add(tensor)
        rows = [row for row in flow.made_in.get(tensor, ()) if wanted(row)]
        if rows:
            return rows[-1]
        tensor = flow.facts(tensor).view_of
    return None
