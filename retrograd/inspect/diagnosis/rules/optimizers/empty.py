"""Optimizers that were refused because they were given no parameters."""

from __future__ import annotations

import ast

from ....graphs.graph import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...text.generators import is_generator, mentions, reads_to_end, value_given
from ...text.spelling import called, is_name
from ...text.words import at, counted, place


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
    statement = flow.spelling.statement(source)
    for call in ast.walk(statement) if statement else ():
        if isinstance(call, ast.Call) and called(call)[:1].isupper():
            given = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "params")]
            if given and is_name(text := ast.unparse(given[0])):
                return text
    return ""


def _read_before(flow: Flow, source: SourceLine | None) -> _Cause | None:
    """Return the cause if the optimizer was given a generator: read to its end before, as far as the lines tell."""
    name = _given(flow, source)
    generator, made, used = _generator(flow, name, source)
    if generator is None:
        return None
    why = f"{name}{at(made)} is a generator, which can be read only once"
    why += f", and {place(used)} had read it to its end" if used is not None else ""
    return "optimizer-mismatch", used or source, why, f"{name} = list({ast.unparse(generator)})"


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


def _generator(
    flow: Flow, name: str, source: SourceLine | None
) -> tuple[ast.expr | None, SourceLine | None, SourceLine | None]:
    """Return the generator that a name stands for above a line, where it is made, and what first reads it to its end.

    As far as the text above that line was kept.
    """
    generator: ast.expr | None = None
    made: SourceLine | None = None
    used: SourceLine | None = None
    for one in flow.spelling.statements(source) if source and name else ():
        if source is None or one.last >= source.line:
            break
        here = SourceLine(source.file, one.first, source.function)
        value = value_given(one.tree, name)
        anew = value is not None and not mentions(value, name)
        if anew or (value is not None and used is None):  # else it is what the first reader left of the old value
            generator, made, used = (value, here, None) if is_generator(value) else (None, None, None)
        if generator is not None and (anew or value is None) and reads_to_end(one.tree, name):
            used = used or here
    return generator, made, used
