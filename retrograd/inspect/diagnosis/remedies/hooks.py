"""Fixes of hooks: a gradient is changed by returning a new one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Change, Fix
from .site import Site, fix


def _returned(site: Site) -> Iterator[Fix]:
    """A hook that writes into the gradient it was given works on a copy, and returns that."""
    program = site.program
    hook = program.function(site.statement)
    if not isinstance(hook, ast.FunctionDef) or not hook.args.args:
        return
    name = hook.args.args[-1].arg
    if any(isinstance(one, ast.Return) for one in ast.walk(hook)):
        yield from fix(
            f"work on a copy of {name}", program.put_before(hook.body[0], f"{name} = {name}.clone()"), tentative=True
        )
        return
    changes: list[Change] = [program.put_before(hook.body[0], f"{name} = {name}.clone()")]
    changes.append(program.put_after(hook.body[-1], f"return {name}"))
    yield from fix(f"return a changed copy of {name}", *changes)


def _once(site: Site) -> Iterator[Fix]:
    """A hook that is registered in every step is registered once, before the loop."""
    program, statement = site.program, site.statement
    loop = program.loop(statement)
    if loop is not None and isinstance(statement, ast.Expr | ast.Assign):
        changes = (program.put_before(loop, program.text(statement)), program.taken_out(statement))
        yield from fix("register it once, before the loop", *changes, tentative=True)


FIXES = {"hook-leak": _once, "hook-mutates-grad": _returned}
