"""Fixes of losses with unsuitable inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Change, Fix
from ...operators import Trait, operator
from ..text.spelling import operand
from .program import callee
from .site import Site, fix

_PROBABILITIES = {Trait.NORMALISATION, Trait.SATURATING}
"""Traits of operators that turn scores into probabilities."""


def _given_what_it_takes(site: Site) -> Iterator[Fix]:
    """Remove a softmax before a loss that applies its own; take the logarithm of what a loss takes as logarithms."""
    program = site.program
    for one in program.expressions(site.statement):
        if isinstance(one, ast.Call) and callee(one) != site.case.op and operator(callee(one)).traits & _PROBABILITIES:
            if site.case.evidence.get("dimension") is not None:
                yield from fix("over the classes", _over_classes(site, one))
                return
            given = one.args[0] if one.args else one.func.value if isinstance(one.func, ast.Attribute) else None
            if given is not None:
                text = program.text(given)
                yield from fix(f"give {text} itself", program.replaced(one, text), tentative=_serves_else(site, one))
    if site.operands and site.engine:
        scores = site.operands[0]
        text = f"{site.engine}.log_softmax({program.text(scores)}, 1)"
        yield from fix("give logarithms of probabilities", program.replaced(scores, text), tentative=True)


def _over_classes(site: Site, call: ast.Call) -> Change:
    """Return the change that takes probabilities over the classes, however the call names its dimension."""
    classes = str(site.case.evidence["classes"])
    places = [one for one in call.args if site.program.text(one).lstrip("-").isdigit()]
    if places:
        return site.program.replaced(places[-1], classes)
    return site.program.with_keyword(call, "dim", classes)


def _serves_else(site: Site, call: ast.expr) -> bool:
    """Whether the result of a call has a name that is used at several places."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return isinstance(statement, ast.Assign)
    name = operand(site.program.text(statement.targets[0]))
    tree = site.program.tree
    nodes = ast.walk(tree) if tree is not None else ()
    return sum(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load) for one in nodes) > 1


FIXES = {"loss-contract": _given_what_it_takes}
