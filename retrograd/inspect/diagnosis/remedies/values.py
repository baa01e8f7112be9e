"""Fixes of numbers: operands are kept away from poles, flat functions replaced by some that pass gradients on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ...operators import canonical, operator
from ..rules.nonfinite.cures import INSIDE
from ..text.spelling import operand
from ..thresholds import MEANT_AS_EPSILON
from .program import callee, method
from .site import Site, fix


def _away_from_pole(site: Site) -> Iterator[Fix]:
    """Keep the operand away from a pole; merge a logarithm with its operand."""
    program = site.program
    yield from _logarithm_in_one(site)
    yield from _masked_before(site)
    found = _at_pole(site)
    if found is not None:
        text = operand(program.text(_without_epsilon(found)))
        bounded = f"{text}.{INSIDE.get(operator(site.case.op).domain, 'clamp(min=1e-6)')}"
        sentence = f"keep {text} away from the pole of {site.case.op}"
        yield from fix(sentence, program.replaced(found, bounded), tentative=True)


def _at_pole(site: Site) -> ast.expr | None:
    """Return the expression of the operand that holds the pole of an operator."""
    event = site.event
    names = [] if event is None else event.data.get("names", ())
    if not names:
        return None
    name = names[min(operator(site.case.op).operand, len(names) - 1)]
    named = [one for one in site.program.expressions(site.statement) if ast.unparse(one) == name]
    return next((one for one in named if _is_taken_by(site, one)), next(iter(named), None))


def _is_taken_by(site: Site, given: ast.expr) -> bool:
    """Whether an expression is the receiver or an argument of the case's operator."""
    caller = next(site.program.around(given), None)
    if isinstance(caller, ast.Attribute):
        caller = next(site.program.around(caller), None)
    return isinstance(caller, ast.Call) and canonical(callee(caller)) == canonical(site.case.op)


def _without_epsilon(node: ast.expr) -> ast.expr:
    """Return the expression to which a small constant is added; unchanged if there is none."""
    added = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else None
    small = isinstance(added, ast.Constant) and isinstance(added.value, float) and added.value < MEANT_AS_EPSILON
    return node.left if small and isinstance(node, ast.BinOp) else node


def _masked_before(site: Site) -> Iterator[Fix]:
    """In ``where(mask, f(x), other)``, make the argument of the function safe where the mask is false."""
    program, found = site.program, _at_pole(site)
    if found is None or not site.engine:
        return
    for one in program.expressions(site.statement):
        if isinstance(one, ast.Call) and callee(one) == "where" and len(one.args) == 3:
            sides = [found in ast.walk(side) for side in one.args[1:]]
            mask, text = program.text(one.args[0]), program.text(found)
            kept = f"{text}, 1.0" if sides[0] else f"1.0, {text}"
            if sides[0] != sides[1]:
                change = program.replaced(found, f"{site.engine}.where({mask}, {kept})")
                yield from fix(f"mask {text} before {site.case.op}, too", change, tentative=True)


def _logarithm_in_one(site: Site) -> Iterator[Fix]:
    """``x.softmax(d).log()`` becomes ``x.log_softmax(d)``, ``torch.log(F.softmax(x, d))`` ``F.log_softmax(x, d)``."""
    for one in site.program.expressions(site.statement):
        inner = method(one, "log") or (
            one.args[0] if isinstance(one, ast.Call) and callee(one) == "log" and one.args else None
        )
        if isinstance(inner, ast.Call) and callee(inner) == "softmax":
            called, text = site.program.text(inner.func), site.program.text(inner)
            head = called[: -len("softmax")]
            change = site.program.replaced(one, f"{head}log_softmax{text[len(called) :]}")
            yield from fix("take the logarithm of a softmax in one", change, tentative=isinstance(inner.func, ast.Name))


def _leaky(site: Site) -> Iterator[Fix]:
    """``relu`` becomes ``leaky_relu``, which passes something on below zero as well."""
    if "rate" in site.case.evidence:  # what the step did to one function it does to another
        return
    found = site.first(lambda one: callee(one) == "relu")
    if isinstance(found, ast.Call) and site.engine:
        given = found.args[0] if found.args else found.func.value if isinstance(found.func, ast.Attribute) else None
        if given is not None:
            text = f"{site.engine}.nn.functional.leaky_relu({site.program.text(given)})"
            yield from fix("pass something on below zero", site.program.replaced(found, text))


def _straight_through(site: Site) -> Iterator[Fix]:
    """Make a step pass gradients on unchanged: ``z + (step(z) - z).detach()``."""
    event = site.event
    if event is None or len(site.operands) != 1:
        return
    given = site.program.text(site.operands[0])
    for one in site.program.expressions(site.statement):
        if isinstance(one, ast.Call) and site.operands[0] in (*one.args, getattr(one.func, "value", None)):
            whole = site.program.text(one)
            text = f"({given} + ({whole} - {operand(given)}).detach())"
            yield from fix("let the gradient pass straight through", site.program.replaced(one, text), tentative=True)
            return


def _softened(site: Site) -> Iterator[Fix]:
    """``a > b`` becomes ``sigmoid(10 * (a - b))``, which passes gradients to both."""
    program = site.program
    for one in program.expressions(site.statement):
        if isinstance(one, ast.Compare) and len(one.ops) == 1 and site.engine:
            sides = [operand(program.text(side)) for side in (one.left, one.comparators[0])]
            if isinstance(one.ops[0], ast.Lt | ast.LtE):
                sides.reverse()
            elif not isinstance(one.ops[0], ast.Gt | ast.GtE):
                return
            text = f"{site.engine}.sigmoid(10 * ({sides[0]} - {sides[1]}))"
            yield from fix("compare by a smooth step", program.replaced(one, text), tentative=True)


FIXES = {
    "nan-origin": _away_from_pole,
    "dead-relu": _leaky,
    "zero-gradient": _straight_through,
    "nondifferentiable": _softened,
}
