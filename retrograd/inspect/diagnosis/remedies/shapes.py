"""Fixes of shapes: operands that meet entry by entry, losses that are one number, writes to one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ...operators import canonical
from ..text.spelling import operand
from .program import callee, method
from .site import Site, fix


def _aligned(site: Site) -> Iterator[Fix]:
    """The operand with the column is squeezed, or the other one gets a column."""
    event = site.event
    if event is None:
        return
    if "dim" in site.case.evidence:
        calls = [one for one in site.program.expressions(site.statement) if isinstance(one, ast.Call)]
        calls = [one for one in calls if canonical(callee(one)) == event.op]
        found = (
            calls if len(calls) == 1 else [one for one in calls if ast.unparse(one) == site.case.evidence["operand"]]
        )
        if len(found) == 1:
            yield from fix("keep the dimension", site.program.with_keyword(found[0], "keepdim", "True"))
        return
    names = event.data.get("names", ())
    spelled = {ast.unparse(one): one for one in reversed(site.program.expressions(site.statement))}
    for name, tensor in zip(names, event.data.get("inputs", ()), strict=False):
        shape = site.flow.facts(tensor).shape
        if name in spelled and len(shape) > 1 and shape[-1] == 1:
            text = operand(site.program.text(spelled[name]))
            yield from fix(f"{text} without its column", site.program.replaced(spelled[name], f"{text}.squeeze(-1)"))
    for name, tensor in zip(names, event.data.get("inputs", ()), strict=False):
        if name in spelled and len(site.flow.facts(tensor).shape) == 1:
            text = operand(site.program.text(spelled[name]))
            yield from fix(f"{text} as a column", site.program.replaced(spelled[name], f"{text}.unsqueeze(-1)"))


def _reduced(site: Site) -> Iterator[Fix]:
    """``loss.backward()`` becomes ``loss.mean().backward()``, a value that is returned or kept is averaged."""
    program, statement = site.program, site.statement
    found = site.first(lambda one: method(one, "backward") is not None)
    root = None if found is None else method(found, "backward")
    if root is not None:
        yield from fix("reduce it to one number", program.replaced(root, f"{operand(program.text(root))}.mean()"))
        return
    value = getattr(statement, "value", None)
    if isinstance(value, ast.expr):
        text = f"{operand(program.text(value))}.mean()"
        yield from fix("reduce it to one number", program.replaced(value, text))


def _added_up(site: Site) -> Iterator[Fix]:
    """``scatter`` becomes ``scatter_add``, so that entries of one place are added up."""
    found = site.first(lambda one: method(one, "scatter", "scatter_") is not None)
    if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        name = "scatter_add_" if found.func.attr.endswith("_") else "scatter_add"
        text = site.program.text(found)
        head = site.program.text(found.func.value)
        rest = text[len(site.program.text(found.func)) :]
        yield from fix("add up what goes to one place", site.program.replaced(found, f"{head}.{name}{rest}"))


FIXES = {"broadcast": _aligned, "nonscalar-backward": _reduced, "duplicate-index": _added_up}
