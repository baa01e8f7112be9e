"""Optimizers that were refused because they were given no parameters."""

from __future__ import annotations

import re

from ...snapshot import SourceLine
from ..base import Case
from ..flow import Flow
from ..words import at, counted, place


def empty_case(flow: Flow) -> Case:
    """Return the case of an optimizer that was given nothing: most often a generator that had been read to its end."""
    source = flow.error.source if flow.error else None
    kind, cause, why, remedy = _read_before(flow, source) or _all_frozen(flow) or _unknown(flow, source)
    return Case(
        kind=kind,
        message=f"the optimizer{at(source)} gets an empty parameter list: {why}.",
        remedy=remedy,
        source=cause,
        op="Optimizer",
        explains_error=True,
    )


_Cause = tuple[str, SourceLine | None, str, str]
"""Kind, line to blame, what is wrong there, and what to write instead."""


def _given(flow: Flow, source: SourceLine | None) -> str:
    """Return what a line gives an optimizer as parameters, if that is a name."""
    call = re.search(r"\b[A-Z]\w*\(\s*(?:params\s*=\s*)?([A-Za-z_][\w.]*)\s*[,)]", flow.spelling.text(source))
    return call[1] if call else ""


def _read_before(flow: Flow, source: SourceLine | None) -> _Cause | None:
    """Return the cause if the optimizer was given a generator: read to its end before, as far as the lines tell."""
    name = _given(flow, source)
    made, used = _generator(flow, name, source)
    if made is None:
        return None
    why = f"{name}{at(made)} is a generator, which can be read only once"
    why += f", and {place(used)} had read it to its end" if used is not None else ""
    remedy = re.sub(r"=\s*(.+)$", r"= list(\1)", flow.spelling.text(made)) or f"{name} = list({name})"
    return "optimizer-mismatch", used or source, why, remedy


def _all_frozen(flow: Flow) -> _Cause | None:
    """Return the cause if leaves were frozen, so that a filter for what requires grad may have left none."""
    frozen = [leaf for leaf in range(len(flow.tensors)) if flow.switched_off(leaf) is not None]
    if not frozen:
        return None
    line = flow.frozen_at(frozen[0])
    why = f"requires_grad was switched off{at(line)} for {counted(len(frozen), 'parameter')}"
    return "frozen-parameter", line, why, "switch on what is to be trained: p.requires_grad_(True)"


def _unknown(flow: Flow, source: SourceLine | None) -> _Cause:
    """Return the most likely cause where nothing tells."""
    given = _given(flow, source) or "what it is given"
    why = f"{given} yields nothing; a generator that was read before has nothing left"
    return "optimizer-mismatch", source, why, "give it list(model.parameters())"


def _generator(flow: Flow, name: str, source: SourceLine | None) -> tuple[SourceLine | None, SourceLine | None]:
    """Return the line that sets a name to a generator of parameters, and the first after it that reads it to its end.

    As far as the text above the optimizer's line was kept.
    """
    lines = flow.recording.sources.get(source.file, {}) if source and name else {}
    upto = source.line if source else 0
    sets = re.compile(rf"^\s*{re.escape(name)}\s*=\s*(.*(parameters|named_parameters)\(.*\)|filter\(.*|\(.* for .*)")
    reads = re.compile(rf"\b(in|list|tuple|sum|len|map|sorted|set|enumerate)\b[ (]+{re.escape(name)}\b")
    made = max((number for number, text in lines.items() if number < upto and sets.match(text)), default=0)
    if not made or source is None or re.match(r"^[^=]*=\s*(list|tuple|\[)", lines[made]):
        return None, None
    used = [number for number, text in sorted(lines.items()) if made < number < upto and reads.search(text)]
    spots = [SourceLine(source.file, number, source.function) for number in (made, *used[:1])]
    return spots[0], spots[1] if used else None
