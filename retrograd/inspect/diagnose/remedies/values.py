"""Fixes of numbers: operands are kept away from poles, flat functions replaced by some that pass gradients on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from .program import callee, method
from .site import Site, fix


def _away_from_pole(site: Site) -> Iterator[Fix]:
    """The operand that reaches a pole is bounded away from it; a logarithm of a softmax is taken in one."""
    program = site.program
    yield from _logarithm_in_one(site)
    for one in site.operands[::-1]:
        text = operand(program.text(one))
        yield from fix(f"keep {text} above 0", program.replaced(one, f"{text}.clamp(min=1e-6)"), tentative=True)
        yield from fix(
            f"keep {text} between its poles",
            program.replaced(one, f"{text}.clamp(-1 + 1e-6, 1 - 1e-6)"),
            tentative=True,
        )


def _logarithm_in_one(site: Site) -> Iterator[Fix]:
    """``x.softmax(d).log()`` becomes ``x.log_softmax(d)``."""
    for one in site.program.expressions(site.statement):
        inner = method(one, "log") or (
            one.args[0] if isinstance(one, ast.Call) and callee(one) == "log" and one.args else None
        )
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "softmax":
            text = site.program.text(inner)
            head = site.program.text(inner.func.value)
            rest = text[len(site.program.text(inner.func)) :]
            yield from fix(
                "take the logarithm of a softmax in one", site.program.replaced(one, f"{head}.log_softmax{rest}")
            )


def _leaky(site: Site) -> Iterator[Fix]:
    """``relu`` becomes ``leaky_relu``, which passes something on below zero as well."""
    found = site.first(lambda one: callee(one) == "relu")
    if isinstance(found, ast.Call) and site.engine:
        given = found.args[0] if found.args else found.func.value if isinstance(found.func, ast.Attribute) else None
        if given is not None:
            text = f"{site.engine}.nn.functional.leaky_relu({site.program.text(given)})"
            yield from fix("pass something on below zero", site.program.replaced(found, text))


def _straight_through(site: Site) -> Iterator[Fix]:
    """A step passes gradients on as if it were not there: ``z + (step(z) - z).detach()``."""
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


FIXES = {"nan-origin": _away_from_pole, "dead-relu": _leaky, "zero-gradient": _straight_through}
