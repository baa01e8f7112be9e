"""Fixes of modes: networks that stay in evaluation while they are trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from .program import method
from .site import Site, fix


def _trained_again(site: Site) -> Iterator[Fix]:
    """``train()`` is called where it is only named; or where each turn begins, or the function ends, that evaluates."""
    program, statement = site.program, site.statement
    network = method(statement.value, "eval", "train") if isinstance(statement, ast.Expr) else None
    if network is None:
        return
    text = f"{program.text(network)}.train()"
    for one in program.statements:  # named and not called, which does nothing
        if isinstance(one, ast.Expr) and f"{program.text(one.value)}()" == text:
            yield from fix(f"call {program.text(one.value)}", program.replaced(one.value, text))
            return
    loop = program.loop(statement)
    if loop is not None:
        yield from fix(f"{text} at the beginning of each turn", program.put_inside(loop, text))
        return
    function = program.function(statement)
    if isinstance(function, ast.FunctionDef):
        last = function.body[-1]
        change = program.put_before(last, text) if isinstance(last, ast.Return) else program.put_after(last, text)
        yield from fix(f"{text} when the evaluation is done", change, tentative=isinstance(last, ast.Return))


FIXES = {"left-in-evaluation": _trained_again}
