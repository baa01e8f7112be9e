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
        last, sentence = function.body[-1], f"{text} when the evaluation is done"
        if not isinstance(last, ast.Return):  # one that ends within a block leaves nothing behind it to be reached
            if not any(isinstance(one, ast.Return) for one in ast.walk(last)):
                yield from fix(sentence, program.put_after(last, text))
        elif isinstance(last.value, ast.Name | None):
            yield from fix(sentence, program.put_before(last, text), tentative=True)
        else:
            lines = (f"result = {program.text(last.value)}", text, "return result")
            yield from fix(sentence, program.rewritten(last, *lines), tentative=True)


FIXES = {"left-in-evaluation": _trained_again}
