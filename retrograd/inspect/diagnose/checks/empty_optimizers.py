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
    text = flow.spelling.text(source)
    given = re.search(r"\b[A-Z]\w*\(\s*(?:params\s*=\s*)?([A-Za-z_][\w.]*)\s*[,)]", text)
    name = given[1] if given else ""
    made, used = _generator(flow, name, source)
    frozen = [leaf for leaf in range(len(flow.tensors)) if flow.switched_off(leaf) is not None]
    why, remedy = f"{name or 'what it is given'} yields nothing", "give it list(model.parameters())"
    why += "; a generator that was read before has nothing left"
    kind, cause = "optimizer-mismatch", source
    if made is not None:
        why, remedy = f"{name}{at(made)} is a generator, which can be read only once", f"{name} = list({name})"
        remedy = re.sub(r"=\s*(.+)$", r"= list(\1)", flow.spelling.text(made)) or remedy
        if used is not None:
            cause = used
            why += f", and {place(used)} had read it to its end"
    elif frozen:
        cause = flow.frozen_at(frozen[0])
        why = f"requires_grad was switched off{at(cause)} for {counted(len(frozen), 'parameter')}"
        kind = "frozen-parameter"
        remedy = "switch on what is to be trained: p.requires_grad_(True)"
    return Case(
        kind=kind,
        message=f"the optimizer{at(source)} gets an empty parameter list: {why}.",
        remedy=remedy,
        source=cause,
        op="Optimizer",
        explains_error=True,
    )


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
