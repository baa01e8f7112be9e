"""Fixes of a step's order: gradients are cleared before backward, clipped between backward and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from .program import Program, callee, method
from .site import Site, fix


def _statements_calling(program: Program, within: ast.AST, name: str) -> list[ast.Expr]:
    """Return the statements inside a node that are nothing but a call of a method of this name."""
    alone = [one for one in ast.walk(within) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return sorted((one for one in alone if method(one.value, name) is not None), key=lambda one: one.lineno)


def _cleared(site: Site) -> Iterator[Fix]:
    """``zero_grad()`` of the optimizer that steps in the same loop is put before backward."""
    program, statement = site.program, site.statement
    if named := site.case.evidence.get("optimizer"):
        for one in program.statements:
            if one.lineno == site.case.evidence["before"]:
                change = program.put_before(one, f"{named}.zero_grad()")
                yield from fix(f"clear the gradients of {named} before its own pass", change)
        return
    around = program.loop(statement) or program.function(statement)
    steps = _statements_calling(program, around, "step") if around is not None else []
    names = [program.text(found) for one in steps if (found := method(one.value, "step")) is not None]
    optimizers = [name for name in names if "optim" in _made_by(program, name)]
    for called in dict.fromkeys(optimizers):
        change = program.put_before(statement, f"{called}.zero_grad()")
        yield from fix(f"clear the gradients of {called} in every step", change, tentative=len(set(optimizers)) > 1)
    if not optimizers:
        yield from _cleared_by_hand(site)


def _cleared_by_hand(site: Site) -> Iterator[Fix]:
    """Where the program moves values itself, their gradients are cleared behind that; in a closure, before all."""
    program = site.program
    around = program.loop(site.statement) or program.function(site.statement)
    for one in ast.walk(around) if around is not None else ():
        target = one.target if isinstance(one, ast.AugAssign) else None
        if isinstance(one, ast.AugAssign) and target is not None:
            name = program.text(target)
            if f"{name}.grad" in program.text(one.value):
                change = program.put_after(one, f"{name}.grad = None")
                yield from fix(f"clear {name}.grad behind its use", change)
    closure = program.function(site.statement)
    if isinstance(closure, ast.FunctionDef):
        for one in program.statements:
            for call in program.expressions(one):
                stepping = method(call, "step")
                if stepping is not None and isinstance(call, ast.Call) and _is_given(call, closure.name):
                    change = program.put_before(closure.body[0], f"{program.text(stepping)}.zero_grad()")
                    yield from fix("clear the gradients at the beginning of the closure", change)


def _is_given(call: ast.Call, name: str) -> bool:
    """Whether a call takes a function of this name."""
    return any(isinstance(one, ast.Name) and one.id == name for one in call.args)


def _made_by(program: Program, name: str) -> str:
    """Return the call whose result goes by a name, as the program writes it, or nothing."""
    for one in program.statements:
        if isinstance(one, ast.Assign) and any(program.text(target) == name for target in one.targets):
            return program.text(one.value)
    return ""


def _cleared_in_time(site: Site) -> Iterator[Fix]:
    """``zero_grad()`` between backward and the step is moved before backward, an early step behind it.

    One before each of several backward calls, of which it leaves the last, goes to where the step is.
    """
    program = site.program
    around = program.loop(site.statement) or program.function(site.statement)
    passes = _statements_calling(program, around, "backward") if around is not None else []
    moved = site.statement
    called = callee(moved.value) if isinstance(moved, ast.Expr) else ""
    whole = called in ("zero_grad", "step")
    if not whole:
        yield from fix(f"leave out {program.text(moved)}", program.taken_out(moved), tentative=True)
    if not passes or not whole:
        return
    text = program.text(moved)
    out = program.taken_out(moved)
    if moved.lineno > passes[0].lineno:
        yield from fix(f"{text} before backward", program.put_before(passes[0], text), out)
    elif called == "step":
        yield from fix(f"{text} after backward", out, program.put_after(passes[-1], text))
    elif steps := _statements_calling(program, around, "step") if around is not None else []:
        yield from fix(f"{text} after the step", out, program.put_after(steps[-1], text))


def _clipped_in_time(site: Site) -> Iterator[Fix]:
    """The call that clips is moved between backward and the step."""
    program, moved = site.program, site.statement
    around = program.loop(moved) or program.function(moved)
    passes = _statements_calling(program, around, "backward") if around is not None else []
    steps = _statements_calling(program, around, "step") if around is not None else []
    if not isinstance(moved, ast.Expr) or not passes:
        return
    if moved.lineno < passes[0].lineno or any(step.lineno < moved.lineno for step in steps):
        behind = program.put_after(passes[-1], program.text(moved))
        yield from fix("clip between backward and the step", program.taken_out(moved), behind)


FIXES = {
    "missing-zero-grad": _cleared,
    "cleared-gradient": _cleared_in_time,
    "unclipped-gradient": _clipped_in_time,
}
