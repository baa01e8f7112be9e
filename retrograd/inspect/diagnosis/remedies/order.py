"""Fixes of a step's order: gradients are cleared before backward, clipped between backward and the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...fixes import Change, Fix, changed
from .program import Program, callee, method
from .site import Site, fix


def _statements_calling(program: Program, within: ast.AST, name: str) -> list[ast.Expr]:
    """Return the statements inside a node that are nothing but a call of a method of this name."""
    alone = [one for one in ast.walk(within) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return sorted((one for one in alone if method(one.value, name) is not None), key=lambda one: one.lineno)


def _cleared(site: Site) -> Iterator[Fix]:
    """Put ``zero_grad()`` of the optimizer that steps in the same loop before backward."""
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
    for called, step in {name: one for one, name in zip(steps, names, strict=False) if name in optimizers}.items():
        text, beside = f"{called}.zero_grad()", _beside(program, [statement], step)
        change = program.put_before(beside[0], text) if beside else program.put_after(step, text)
        yield from fix(f"clear the gradients of {called} in every step", change, tentative=len(set(optimizers)) > 1)
    if not optimizers:
        yield from _cleared_by_hand(site)


def _cleared_by_hand(site: Site) -> Iterator[Fix]:
    """Clear gradients after the program's own update; in a closure, at its beginning."""
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
    """``zero_grad()`` between backward and the step is moved before backward or behind the step, an early step behind.

    In a block of its own, as under the condition that the step has, it goes behind the step: what comes before each
    backward pass would clear the shares of those before it.
    """
    program, moved = site.program, site.statement
    around = _turn(site)
    if not isinstance(moved, ast.Expr) or callee(moved.value) not in ("zero_grad", "step"):
        yield from fix(f"leave out {program.text(moved)}", program.taken_out(moved), tentative=True)
        return
    text, out = program.text(moved), program.taken_out(moved)
    passes = _beside(program, _statements_calling(program, around, "backward"), moved)
    ways: list[tuple[str, Change]] = []
    if callee(moved.value) == "step":
        ways += [(f"{text} behind backward", program.put_after(passes[-1], text))] if passes else []
    else:
        if passes and passes[0].lineno < moved.lineno:
            ways.append((f"{text} before backward", program.put_before(passes[0], text)))
        step = program.statement(int(site.case.evidence.get("step_line", 0)))
        if isinstance(step, ast.Expr) and step in _statements_calling(program, around, "step"):
            ways.append((f"{text} behind the step", program.put_after(step, text)))
    for sentence, change in ways:
        yield from (one for one in fix(sentence, change, out) if _keeps_order(site, one, around))


def _turn(site: Site) -> ast.AST:
    """Return the innermost loop around a site, or else its function."""
    return site.program.loop(site.statement) or site.program.function(site.statement) or site.statement


def _beside(program: Program, found: Sequence[ast.stmt], other: ast.stmt) -> list[ast.stmt]:
    """Return the statements of another one's block that those found are, or are in: an inner loop as a whole."""
    block = program.block(other)
    ways = ((one, *program.around(one)) for one in found)
    return [stmt for way in ways for stmt in block if stmt in way]


def _keeps_order(site: Site, proposed: Fix, around: ast.AST) -> bool:
    """Whether gradients, turn after turn, are cleared before backward or behind the step, and never between the two."""
    new = changed(site.program.lines, proposed.changes)
    program = Program(site.program.file, new or ())
    same = [one for one in ast.walk(program.tree or ast.Module([], [])) if _first_line(one) == _first_line(around)]
    turn = next((one for one in same if type(one) is type(around)), None)
    if turn is None:
        return False
    calls = [one for name in ("zero_grad", "backward", "step") for one in _statements_calling(program, turn, name)]
    names = [callee(one.value) for one in sorted(calls, key=lambda one: one.lineno)]
    waiting = [name for name, before in zip(names, names[-1:] + names, strict=False) if before == "backward"]
    return names.count("backward") > 0 and set(waiting) <= {"backward", "step"}


def _first_line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _clipped_in_time(site: Site) -> Iterator[Fix]:
    """The call that clips is moved between backward and the step."""
    program, moved = site.program, site.statement
    around = _turn(site)
    passes = _beside(program, _statements_calling(program, around, "backward"), moved)
    steps = _statements_calling(program, around, "step")
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
