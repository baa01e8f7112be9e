"""Fixes of writes in place: a new tensor in place of the old one, a copy, or the write under ``no_grad()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand, out_of_place
from .program import callee, method
from .site import Site, fix


def _out_of_place(site: Site) -> Iterator[Fix]:
    """``h += x`` becomes ``h = h + x``, ``h.mul_(x)`` becomes ``h = h.mul(x)``; an entry is written into a copy."""
    program, statement = site.program, site.statement
    if "tensor" in site.case.evidence:  # not the write is wrong, but what carries an old graph to it
        return
    text = out_of_place(program.text(statement))
    if text:
        yield from fix(f"give {text.partition(' = ')[0]} a new value", program.rewritten(statement, text))
    written = _entry_written(statement)
    if written is not None:
        base = program.text(written)
        if isinstance(written, ast.Name | ast.Attribute):
            copied = "copy" if site.case.op == "numpy" else "clone"
            change = program.put_before(statement, f"{base} = {base}.{copied}()")
            yield from fix(f"write into a copy of {base}", change, tentative=copied == "copy")


def _new_value(site: Site) -> Iterator[Fix]:
    """Replace an in-place call by one that returns a new tensor: ``row.mul_(2)`` becomes ``row.mul(2)``."""
    yield from _out_of_place(site)
    for one in site.program.expressions(site.statement):
        name = callee(one)
        if (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and name.strip("_") == site.case.op.strip("_")
        ):
            text = f"{site.program.text(one.func.value)}.{name.rstrip('_')}"
            yield from fix("give it as a new tensor", site.program.replaced(one.func, text))


def _entry_written(statement: ast.stmt) -> ast.expr | None:
    """Return the object whose entry a statement writes."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    return target.value if isinstance(target, ast.Subscript) else None


def _under_no_grad(site: Site) -> Iterator[Fix]:
    """Write into a leaf under ``no_grad()``; for a write into a view of it, assign a new value to the view's name."""
    written = getattr(site.statement, "target", None)
    if isinstance(written, ast.Name) and written.id not in {site.flow.name(leaf) for leaf in site.case.subjects}:
        yield from _out_of_place(site)
    if site.engine and not isinstance(site.statement, ast.FunctionDef | ast.For | ast.With):
        change = site.program.indented_under(site.statement, f"with {site.engine}.no_grad():")
        yield from fix("write under no_grad()", change)


def _cloned(site: Site) -> Iterator[Fix]:
    """Copy a tensor whose entries share memory where it is made."""
    program, statement = site.program, site.statement
    value = getattr(statement, "value", None)
    if isinstance(value, ast.expr) and not isinstance(value, ast.Tuple):
        text = operand(program.text(value))
        several = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
        new = f"(t.clone() for t in {text})" if several else f"{text}.clone()"
        yield from fix("work on a copy", program.replaced(value, new))


def _copied_for_numpy(site: Site) -> Iterator[Fix]:
    """The array is a new one, or written into a copy."""
    yield from _out_of_place(site)
    found = site.first(lambda one: method(one, "numpy") is not None)
    if found is not None:
        yield from fix(
            "write into a copy", site.program.replaced(found, f"{site.program.text(found)}.copy()"), tentative=True
        )


def _own_copy(site: Site) -> Iterator[Fix]:
    """A custom Function works on a copy of its input."""
    written = [target] if isinstance(target := getattr(site.statement, "target", None), ast.Name) else []
    calls = [one for one in site.program.expressions(site.statement) if callee(one).endswith("_")]
    written += [inner for one in calls if isinstance(inner := method(one, callee(one)), ast.Name)]
    for one in written[:1]:
        change = site.program.put_before(site.statement, f"{one.id} = {one.id}.clone()")
        yield from fix(f"work on a copy of {one.id}", change)


FIXES = {
    "function-mutates-input": _own_copy,
    "refused-write": _new_value,
    "inplace-modified": _out_of_place,
    "view-no-grad": _out_of_place,
    "silent-inplace": _copied_for_numpy,
    "leaf-inplace": _under_no_grad,
    "overlapping-inplace": _cloned,
}
