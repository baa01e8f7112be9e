"""Fixes of custom Functions: what ``backward`` needs is passed to ``save_for_backward``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from .program import method
from .site import Site, fix


def _saved(site: Site) -> Iterator[Fix]:
    """Save an output stored on ``ctx`` by ``save_for_backward``, behind what is saved already."""
    program, statement = site.program, site.statement
    around = next((one for one in program.around(statement) if isinstance(one, ast.ClassDef)), None)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if around is None or not isinstance(statement, ast.Assign) or not isinstance(target, ast.Attribute):
        return
    readers = [one for one in _reads(around, target.attr) if program.function(one) is not program.function(statement)]
    saving = [one for one in ast.walk(around) if isinstance(one, ast.Call) and method(one, "save_for_backward")]
    if not readers:
        yield from fix(f"leave out {program.text(statement)}, which nothing reads", program.taken_out(statement))
    elif len(saving) < 2 and isinstance(statement.value, ast.Name):  # a tensor: nothing else can be saved so
        value, saver = program.text(statement.value), f"{program.text(target.value)}.save_for_backward"
        texts: dict[ast.AST, str] = {one: f"{program.text(one.value)}.saved_tensors[-1]" for one in readers}
        texts[statement] = "pass" if saving else f"{saver}({value})"
        for call in saving:
            texts[call] = f"{program.text(call)[:-1].rstrip().rstrip(',')}, {value})"
            texts |= {one: f"{program.text(one)}[:-1]" for one in _reads(around, "saved_tensors")}
        yield from fix(f"save {value} by {saver}", *program.all_replaced(texts))


def _reads(within: ast.AST, name: str) -> list[ast.Attribute]:
    """Return where an attribute of this name is read."""
    nodes = (one for one in ast.walk(within) if isinstance(one, ast.Attribute) and one.attr == name)
    return [one for one in nodes if isinstance(one.ctx, ast.Load)]


FIXES = {"ctx-leak": _saved}
