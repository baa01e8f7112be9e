"""In-place writes that overwrite what backward needs: the write, the call that saved the values, and the symptom."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...operators import Trait
from ..base import Case, Check, Kind, Stage
from ..facts.calls import held_by
from ..facts.flow import Flow
from ..facts.runs import Run
from ..queries.carried_tensors import carried_tensor
from ..text.phrases import MODIFIED
from ..text.spelling import gives_value, out_of_place, statement, written_name
from ..text.words import at, listed, operator_word

KINDS = {
    "inplace-modified": Kind(
        "a tensor that backward needs was changed in place; the version counter sees it", "error", Stage.STATEMENT
    ),
    "silent-inplace": Kind(
        "a tensor that backward needs was changed through `.data` or shared memory; nothing sees it",
        "error",
        Stage.STATEMENT,
    ),
    "function-mutates-input": Kind(
        "a custom Function changes its input without `mark_dirty`", "error", Stage.STATEMENT
    ),
}
_SILENT = {
    "data": ".data",
    "numpy": "a NumPy array that shares it",
    "dlpack": "DLPack",
    "storage": "its storage",
}
"""Ways to memory that the version counter does not see, in words."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    failed = next((run for run in flow.runs if MODIFIED in run.error), None)
    if failed is not None:
        yield from _modified(flow, failed)
    yield from _silent(flow)
    yield from _mutating_functions(flow)


CHECK = Check("inplace", KINDS, find)


@dataclass(frozen=True, slots=True)
class _Clash:
    """One write, and the calls that had saved what it overwrote."""

    write: int
    savers: list[int]
    saved: int
    """The tensor that they saved."""


def _clashes(flow: Flow, run: Run, savers: set[int], kept: str = "saves") -> Iterator[_Clash]:
    """Yield each write, before a run, into memory that calls of its graph had saved, last write first.

    If a node does not show what it saved, that may be any of its call's inputs: ``kept`` is then ``"inputs"``.
    """
    found: dict[int, tuple[list[int], int]] = {}
    stepped = _stepped(flow, run)
    for row in sorted(savers):
        for tensor in flow.events[row].data.get(kept, ()):
            for rows_of in (flow.writes_into(tensor), stepped.get(tensor, ())):
                for write in rows_of[bisect_right(rows_of, row) : bisect_left(rows_of, run.begin)]:
                    rows, _ = found.setdefault(write, ([], tensor))
                    rows.append(row)
    for write, (rows, tensor) in sorted(found.items(), reverse=True):
        yield _Clash(write, list(dict.fromkeys(rows)), tensor)


def _stepped(flow: Flow, run: Run) -> dict[int, list[int]]:
    """Return parameter -> rows at which an optimizer that had a gradient for it stepped, before a run that failed."""
    found: dict[int, list[int]] = {}
    for row, event in flow.of_kind("optimizer", action="step") if run.error else ():
        for leaf in held_by(event):
            if any(arrival < row for arrival in flow.accumulated.get(leaf, ())):
                found.setdefault(leaf, []).append(row)
    return found


def _modified(flow: Flow, run: Run) -> Iterator[Case]:
    """Yield the case of the write that the version counter caught."""
    failed = flow.call_of_node(run.ended.get("failed_node"))
    calls = flow.reached_by(run).calls
    for kept in ("saves", "inputs"):
        seen = [clash for clash in _clashes(flow, run, calls, kept) if not _is_silent(flow, clash.write)]
        exact = [clash for clash in seen if failed in clash.savers]
        for clash in exact[-1:] or seen[:1]:  # the first write after the call that failed had saved
            yield _inside_function(flow, clash) or _carried(flow, clash, run) or _written(flow, clash, run)
            return


def _carried(flow: Flow, clash: _Clash, run: Run) -> Case | None:
    """Return the case of a tensor that takes the graph of the pass before along, whose weights a step has changed."""
    before = (one for one in reversed(flow.runs) if one.end < clash.write and not one.nested)
    earlier = next((one for one in before if one.source == run.source), None)
    shared = earlier is not None and not flow.reached_by(earlier).calls.isdisjoint(clash.savers)
    carried = carried_tensor(flow, earlier, run) if earlier is not None and shared else None
    if carried is None or flow.events[clash.write].kind != "optimizer":
        return None
    name, step = carried.name, flow.events[clash.write]
    return Case(
        kind="inplace-modified",
        message=f"{name}, used again{at(carried.used_at)}, still carries the graph of the iteration before, and "
        f"{step.data.get('name') or step.op}.step(){at(step.source)} has changed {flow.name(clash.saved)} in place "
        "since, which that graph had saved for backward.",
        remedy=f"{carried.detached} at the end of each iteration, or add up plain numbers: .item()",
        source=carried.used_at,
        op=flow.events[carried.user].op,
        subjects=frozenset({clash.saved, carried.tensor}),
        explains_error=True,
        marks=flow.marks(run, [carried.maker], "of the iteration before"),
        evidence={"tensor": name, "written": list(step.source or ())},
    )


def _inside_function(flow: Flow, clash: _Clash) -> Case | None:
    """Return the case of the custom Function in whose forward an input was written to, if that is where it was."""
    for case in _mutating_functions(flow):
        if case.source == flow.events[clash.write].source:
            return replace(case, explains_error=True, subjects=case.subjects | {clash.saved})
    return None


def _written(flow: Flow, clash: _Clash, run: Run) -> Case:
    """Return the case of one write."""
    event = flow.events[clash.write]
    savers = [flow.events[row] for row in clash.savers]
    stepped = event.kind == "optimizer"
    name = flow.name(clash.saved) if stepped else _target_name(flow, clash.write)
    how = f"{event.data.get('name') or event.op}.step()" if stepped else f"the in-place {event.written}"
    saved = listed(f"{operator_word(saver.op)}{at(saver.source)}" for saver in savers)
    return Case(
        kind="inplace-modified",
        message=f"{name}, saved by {saved} for backward, was changed in place by {how}{at(event.source)}."
        if stepped
        else f"{name}, saved by {saved} for backward, was changed by {how}{at(event.source)}.",
        remedy=_out_of_place(flow, clash.write, name),
        source=event.source,
        op=event.op,
        subjects=frozenset({clash.saved}),
        explains_error=True,
        marks=flow.marks(run, clash.savers, f"saved {name}, which was changed in place"),
        evidence={"written": list(event.source or ()), "saved": [list(saver.source or ()) for saver in savers]},
    )


def _target_name(flow: Flow, write: int) -> str:
    """Return the target of the writing line, without ``.data`` and the like."""
    event = flow.events[write]
    target = flow.target(write)
    text = written_name(flow.spelling.text(event.source)) if event.source else ""
    for tail in (".data", ".detach()", ".numpy()"):
        text = text.removesuffix(tail)
    if text and not text.endswith(")"):
        return text
    return flow.name(target, event.source) if target is not None else "a tensor"


def _out_of_place(flow: Flow, write: int, name: str) -> str:
    """Return the statement that makes a new tensor instead."""
    event = flow.events[write]
    if _in_step(flow, write):
        return "run backward before optimizer.step(), or compute the loss again after it"
    text = flow.spelling.text(event.source)
    if _changes_a_leaf(flow, write):
        return f"let {text or 'the write'} wait until backward() has run, or do it before the forward pass"
    if re.search(r"[-+*/]=", text):
        whole = name.split("[")[0]
        return out_of_place(text.replace(".data", "")) or f"change a copy: {whole} = {whole}.clone() before it"
    method = event.written if gives_value(event.written) else ""
    tree = statement(text)
    if method.endswith("_") and f".{method}(" in text and ";" not in text and tree is not None:
        anew = text.replace(f".{method}(", f".{method.rstrip('_')}(").replace(".data", "")
        named = f"{name} = {anew}" if isinstance(tree, ast.Expr) else anew  # others hand it on as it is
        return out_of_place(text.replace(".data", "")) or named
    if flow.does(write, Trait.INDEXING) and name.partition("[")[1]:
        whole = name.partition("[")[0]
        return (
            f"write into a copy: {whole} = {whole}.clone() first, or collect the parts in a list and torch.stack them"
        )
    return f"change a copy: {name}.clone()"


def _changes_a_leaf(flow: Flow, write: int) -> bool:
    """Whether a write changes what the program trains, which cannot be replaced by a new tensor."""
    target = flow.target(write)
    if target is None:
        return False
    shared = [target, *flow.same_memory(target)]
    return any(flow.facts(t).view_of is None for t in flow.trainable(shared))


def _in_step(flow: Flow, write: int) -> bool:
    """Whether an optimizer's step wrote."""
    steps = {flow.events[row].source for row in flow.optimizer_steps}
    return flow.events[write].source in steps


def _is_silent(flow: Flow, write: int) -> bool:
    return flow.events[write].data.get("through") in _SILENT


def _silent(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that wrote, unnoticed, what a pass then used."""
    lines = set()
    silent = [row for rows in flow.writes_to.values() for row in rows if _is_silent(flow, row)]
    if not silent:
        return
    for run in flow.runs:
        for clash in _clashes(flow, run, flow.reached_by(run).calls):
            line = flow.events[clash.write].source
            hit = line not in lines and _is_silent(flow, clash.write) and flow.overwrites(clash.write, clash.saved)
            if hit and not _is_restored(flow, clash, run):
                lines.add(line)
                yield _unseen(flow, clash, run)


def _is_restored(flow: Flow, clash: _Clash, run: Run) -> bool:
    """Whether the last write into the same entries restored their values, as finite differences do."""
    target, part = flow.target(clash.write), flow.written_part(clash.write)
    writes = flow.writes_into(clash.saved)
    rows = writes[bisect_right(writes, clash.savers[0]) : bisect_left(writes, run.begin)]
    rows = [row for row in rows if flow.written_part(row) == part]
    if target is None or not flow.made_in.get(target) or len(rows) < 2:  # one to change them, one to put them back
        return False
    held, left = (flow.events[row].data for row in (flow.made_in[target][0], rows[-1]))
    return "range" in held and [held["range"], held.get("checksum")] == [left.get("range"), left.get("checksum")]


def _unseen(flow: Flow, clash: _Clash, run: Run) -> Case:
    """Return the case of one unseen write."""
    event = flow.events[clash.write]
    way = _SILENT[event.data["through"]]
    name = _saved_name(flow, clash)
    savers = listed(operator_word(flow.events[row].op) for row in clash.savers)
    return Case(
        kind="silent-inplace",
        message=f"{name}, saved by {savers} for backward, was changed through {way}{at(event.source)}; the version "
        "counter does not see it, so gradients are silently wrong.",
        remedy=_out_of_place(flow, clash.write, name),
        source=event.source,
        op=event.op,
        subjects=frozenset({clash.saved}),
        marks=flow.marks(run, clash.savers, f"uses changed values of {name}"),
    )


def _saved_name(flow: Flow, clash: _Clash) -> str:
    """Return the name of the tensor that a write changed; else its spelling in the line that saved it."""
    spelled = "" if flow.spelling.has_name(clash.saved) else flow.written_names(clash.savers[0]).get(clash.saved)
    return spelled or flow.name(clash.saved, flow.events[clash.write].source)


def _mutating_functions(flow: Flow) -> Iterator[Case]:
    """Yield a case for each custom Function that changed an input in forward without ``mark_dirty``."""
    reported = set()
    for row, event in flow.of_kind("function", action="forward"):
        mutated = [tensor for tensor in event.data.get("mutated", ()) if _matters(flow, row, tensor)]
        if not mutated or event.op in reported:
            continue
        reported.add(event.op)
        write = _write_inside(flow, row, set(mutated))
        source = flow.events[write].source if write is not None else event.source
        names = listed(_parameter_name(flow, event.data, tensor) for tensor in mutated)
        yield Case(
            kind="function-mutates-input",
            message=f"{event.op}.forward changes its input {names} in place{at(source)} without ctx.mark_dirty, so "
            "autograd still computes with the old values.",
            remedy=f"ctx.mark_dirty({names}) and return it, or work on {names}.clone()",
            source=source,
            op=event.op,
            subjects=frozenset(mutated),
            marks=flow.marks(flow.run_after(row), [row], "changes its input"),
        )


def _matters(flow: Flow, row: int, tensor: int) -> bool:
    """Whether it matters that a Function changed an input; it may keep running statistics that it only writes."""
    if flow.requires_grad(tensor):
        return True
    write = _write_inside(flow, row, {tensor})
    used = [use for use in flow.used_in.get(tensor, ()) if flow.target(use) != tensor]
    return write is None or any(write < use < row for use in used)


def _write_inside(flow: Flow, row: int, tensors: set[int]) -> int | None:
    """Return the last write into one of the tensors before a Function's forward ended."""
    return max((write for tensor in tensors for write in flow.writes_into(tensor) if write < row), default=None)


def _parameter_name(flow: Flow, data: dict[str, Any], tensor: int) -> str:
    """Return forward's name for one of its inputs."""
    parameters, shapes = data.get("parameters", []), data.get("shapes", [])
    places = [place for place, shape in enumerate(shapes) if shape is not None]
    inputs = list(data.get("inputs", ()))
    if tensor in inputs and len(places) == len(inputs) and places[inputs.index(tensor)] < len(parameters):
        return str(parameters[places[inputs.index(tensor)]])
    return flow.name(tensor)
