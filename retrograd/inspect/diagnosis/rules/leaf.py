"""Leaves: tensors that a program takes for parameters although they are results, or that it may not write into."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..text.phrases import LEAF_WRITTEN, NO_DEEPCOPY, NOT_OPTIMIZABLE
from ..text.spelling import argument, out_of_place, written_name
from ..text.words import at, listed, operator_word

KINDS = {
    "nonleaf-grad": Kind("`.grad` of a tensor that is not a leaf is read", "error", Stage.STATEMENT),
    "leaf-inplace": Kind(
        "a leaf that requires grad is changed in place while gradients are on", "error", Stage.STATEMENT
    ),
    "deepcopy-nonleaf": Kind("`deepcopy` meets a tensor that has a history", "error", Stage.STATEMENT),
}

_OF_VIEW = "a view of a leaf"
"""Part of the message about a write into a leaf's memory through a view."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _gradients_read(flow)
    yield from _leaf_written(flow)
    yield from _deep_copied(flow)


CHECK = Check("leaf", KINDS, find)


def _gradients_read(flow: Flow) -> Iterator[Case]:
    """Yield a case for each result whose ``.grad`` was read, and for each line whose results were meant as leaves."""
    read: dict[int, SourceLine | None] = {}
    for _, event in flow.of_kind("read", leaf=False):
        tensor = event.data.get("tensor")
        if tensor is not None and not event.data.get("retains_grad") and flow.requires_grad(tensor):
            read.setdefault(tensor, event.source)
    meant: dict[SourceLine | None, tuple[int, list[int]]] = {}
    for tensor, read_at in read.items():
        made = _made(flow, tensor)
        if made is not None and _meant_as_leaf(flow, tensor, made):
            meant.setdefault(flow.events[made].source, (made, []))[1].append(tensor)
        else:
            yield _read_case(flow, tensor, made, read_at)
    for made, tensors in meant.values():
        yield _meant_case(flow, made, {tensor: read[tensor] for tensor in tensors})
    if NOT_OPTIMIZABLE in flow.error_text:
        yield from _not_optimizable(flow)


def _meant_case(flow: Flow, made: int, read: dict[int, SourceLine | None]) -> Case:
    """Return the case of results of one line that were meant as leaves, each with where it is read."""
    names = listed(_read_name(flow, tensor, read_at) for tensor, read_at in read.items())
    are, its = ("are not leaves", "their") if len(read) > 1 else ("is not a leaf", "its")
    what, line, read_at = operator_word(flow.events[made].op), flow.events[made].source, next(iter(read.values()))
    return Case(
        kind="nonleaf-grad",
        message=f"{names} {are} but the result of {what}{at(line)}, so {its} .grad stays None: the gradient "
        f"goes to the tensor that {what} was computed from.",
        remedy=_leaf_remedy(flow, made, names),
        source=line,
        op=what,
        subjects=frozenset(read),
        explains_error=_stumbled(flow),
        marks=flow.marks(flow.run_after(made), [made], "not a leaf"),
        evidence={"read_at": list(read_at or ()), "function": read_at.function if read_at else ""},
    )


def _read_case(flow: Flow, tensor: int, made: int | None, read_at: SourceLine | None) -> Case:
    """Return the case of one result whose gradient is read."""
    name = _read_name(flow, tensor, read_at)
    line = flow.events[made].source if made is not None else None
    what = operator_word(flow.events[made].op) if made is not None else "an operation"
    return Case(
        kind="nonleaf-grad",
        message=f"the .grad of {name} is read{at(read_at)}, but {name} is not a leaf: {what} made it{at(line)}, and "
        "autograd keeps gradients of leaves only.",
        remedy=f"make it a leaf again{at(line)}: {name} = (...).detach().requires_grad_()"
        if _was_a_leaf(flow, tensor)
        else f"{name}.retain_grad() before backward(), or torch.autograd.grad(loss, {name})",
        source=read_at,
        op=what,
        subjects=frozenset({tensor}),
        explains_error=_stumbled(flow),
        marks=flow.marks(flow.run_after(made), [made], "not a leaf") if made is not None else (),
    )


def _was_a_leaf(flow: Flow, tensor: int) -> bool:
    """Whether a tensor was computed from a leaf of the same name that got a gradient, as in a loop of updates."""
    names = flow.spelling.names(tensor)
    before = flow.leading_to([tensor]).intersection(flow.accumulated)
    return any(flow.is_leaf(one) and names & flow.spelling.names(one) for one in before)


def _made(flow: Flow, tensor: int) -> int | None:
    """Return the row of the call that gave a tensor its history."""
    return next((row for row in flow.made_in.get(tensor, ()) if flow.has_node(row)), None)


def _meant_as_leaf(flow: Flow, tensor: int, made: int) -> bool:
    """Whether a result was meant as a leaf: made of a leaf without a name, or with the same one."""
    sources = [given for given in flow.inputs(made) if flow.requires_grad(given)]
    if not sources or not all(flow.is_leaf(given) for given in sources):
        return False
    names = flow.spelling.names(tensor)
    used_once = all(len(flow.used_in[given]) == 1 for given in sources)
    same_name = any(names & flow.spelling.names(given) for given in sources)
    nameless = not any(flow.facts(given).name for given in sources) and used_once
    return same_name or nameless


def _leaf_remedy(flow: Flow, made: int, names: str) -> str:
    """Return how to make a leaf of it."""
    given = [t for t in flow.inputs(made) if flow.requires_grad(t)]
    if any(flow.spelling.names(t) & {names} for t in given):
        return f"update the leaf itself: with torch.no_grad(): {names} -= ..."
    if "Parameter(" in flow.spelling.text(flow.events[made].source):
        return "compute first, then make it a leaf: torch.nn.Parameter(...) around all of it"
    return "compute first, then make it a leaf: (...).detach().requires_grad_(), without requires_grad=True inside"


def _read_name(flow: Flow, tensor: int, line: SourceLine | None) -> str:
    """Return the reading line's name for a tensor, unless that is a loop variable and it has another name."""
    if not flow.spelling.has_name(tensor):
        read = re.findall(r"([A-Za-z_][\w.]*)\.grad\b", flow.spelling.text(line))
        return read[0] if len(set(read)) == 1 else flow.name(tensor, line)
    return flow.facts(tensor).name or flow.name(tensor, line)


def _stumbled(flow: Flow) -> bool:
    """Whether the program ended because it got None for a gradient."""
    return "NoneType" in flow.error_text


def _not_optimizable(flow: Flow) -> Iterator[Case]:
    """Yield the case of an optimizer that was given results instead of leaves."""
    error = flow.error
    if error is None:
        return
    suspects = [
        (row, tensor)
        for tensor in range(len(flow.tensors))
        if (row := _made(flow, tensor)) is not None and _meant_as_leaf(flow, tensor, row)
    ]
    row, tensor = suspects[-1] if suspects else (None, None)
    name = flow.name(tensor) if tensor is not None else "a tensor"
    source = flow.events[row].source if row is not None else error.source
    yield Case(
        kind="nonleaf-grad",
        message=f"{name} is not a leaf{at(source)}, so the optimizer{at(error.source)} cannot train it.",
        remedy="make it a leaf: (...).detach().requires_grad_(), or torch.nn.Parameter(...)",
        source=source,
        explains_error=True,
    )


def _leaf_written(flow: Flow) -> Iterator[Case]:
    """Yield the case of an exception about a write into a leaf."""
    text = flow.error_text
    if LEAF_WRITTEN not in text or flow.error is None:
        return
    source = flow.error.source
    line = flow.spelling.text(source)
    name = written_name(line) or "a leaf"
    base, expanded = _leaf_seen_through(flow, name) if _OF_VIEW in text else ("", False)
    what = f"a view of {base}, which is a leaf that requires grad" if base else "a leaf that requires grad"
    new = out_of_place(line)
    under = f"with torch.no_grad(): {line}" if line else "wrap the update in torch.no_grad()"
    if base and new:  # a result may be meant as well as an update; an expanded view cannot be updated at all
        under = f"{new}, which makes a new tensor" + ("" if expanded else f"; to change {base} itself, {under}")
    yield Case(
        kind="leaf-inplace",
        message=f"{name} is {what}, and it is changed in place{at(source)} while gradients are on.",
        remedy=under,
        source=source,
        op=flow.error.op,
        explains_error=True,
    )


def _leaf_seen_through(flow: Flow, name: str) -> tuple[str, bool]:
    """Return the name of the leaf that the last view of this name shows, and whether its entries share memory."""
    for tensor in range(len(flow.tensors) - 1, -1, -1):
        if name in flow.spelling.names(tensor) and (base := flow.facts(tensor).view_of) is not None:
            while (further := flow.facts(base).view_of) is not None:
                base = further
            return flow.name(base), any(flow.does(row, Trait.EXPANDING) for row in flow.made_in.get(tensor, ()))
    return "", False


def _refused_copy(flow: Flow) -> int | None:
    """Return the failed call that copied the tensor, if recorded."""
    for kind in ("operation", "cut"):
        for row, event in flow.of_kind(kind):
            if NO_DEEPCOPY in str(event.data.get("error", "")) and event.data.get("inputs"):
                return row
    return None


def _is_called_so(flow: Flow, tensor: int, name: str, refused: int) -> bool:
    """Whether another line than that of the failed copy has this name for a tensor; else it may be its holder's."""
    calls = [*flow.used_in.get(tensor, ()), *flow.made_in.get(tensor, ())]
    of_others = (flow.events[row].data for row in calls if row != refused)
    return flow.facts(tensor).parameter or any(
        name in (*data.get("names", ()), *data.get("output_names", ())) for data in of_others
    )


def _deep_copied(flow: Flow) -> Iterator[Case]:
    """Yield the case of an exception about the deep copy of a result."""
    if NO_DEEPCOPY not in flow.error_text or flow.error is None:
        return
    row = _refused_copy(flow)
    tensor = flow.inputs(row)[0] if row is not None else None
    name = flow.name(tensor) if tensor is not None else "a tensor inside"
    made = _made(flow, tensor) if tensor is not None else None
    origin, there = "", "there"
    if made is not None:
        origin = f"the result of {flow.events[made].op}{at(flow.events[made].source)}"
        kept = flow.spelling.attribute(name, flow.events[made].source)
        if kept is not None:
            there = f"in {kept[0]}"
            origin += f", which {kept[0]} keeps{at(kept[1])}"
    if row is not None and tensor is not None and origin and not _is_called_so(flow, tensor, name, row):
        holder = argument(flow.spelling.text(flow.error.source), "deepcopy".__eq__) or "what is copied"
        what, remedy = f"{origin}, in {holder}", f"copy {holder} with its tensors detached, or before the forward pass"
    else:
        what = f"{name}, {origin}" if origin else name
        remedy = f"keep {name}.detach() {there}, or copy before the forward pass"
    yield Case(
        kind="deepcopy-nonleaf",
        message=f"deepcopy{at(flow.error.source)} meets {what}: it has a history, and only leaves can be copied.",
        remedy=remedy
        if tensor is not None
        else "store tensors with .detach() on objects that are copied, or copy state_dict() instead",
        source=flow.error.source,
        op="deepcopy",
        explains_error=True,
    )
