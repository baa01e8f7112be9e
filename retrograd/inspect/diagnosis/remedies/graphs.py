"""Fixes around ``backward()``: graphs that are needed once more, kept too long, or not made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from ..text.words import listed
from .program import callee, method
from .site import Site, fix

_RUNNING = frozenset({"grad", "backward"})
"""Calls that begin a backward pass."""


def _with_graph(site: Site) -> Iterator[Fix]:
    """``create_graph=True`` is given to the call that takes the gradient."""
    found = site.first(lambda one: callee(one) in _RUNNING)
    if isinstance(found, ast.Call):
        change = site.program.with_keyword(found, "create_graph", "True")
        yield from fix("record the gradient's own graph", change, tentative=callee(found) != "grad")


def _freed(site: Site) -> Iterator[Fix]:
    """Detach what is carried from one pass to the next; else make the first pass keep its graph."""
    yield from _carried(site)
    loop = site.program.loop(site.statement)
    found = site.first(lambda one: callee(one) in _RUNNING)
    if isinstance(found, ast.Call):
        change = site.program.with_keyword(found, "retain_graph", "True")
        yield from fix("keep the graph for the next pass", change, tentative=loop is not None)


def _carried(site: Site) -> Iterator[Fix]:
    """Detach what carries the graph of one pass into the next."""
    program, loop = site.program, site.program.loop(site.statement)
    tensor = str(site.case.evidence.get("tensor", ""))
    if loop is not None and tensor.isidentifier() and program.carries(loop, tensor):
        change = program.put_after(loop.body[-1], _detaching(site, tensor))
        yield from fix(f"detach {tensor} at the end of each iteration", change)


def _detaching(site: Site, name: str) -> str:
    """Return the statement that detaches a variable, which may hold None at first, or several tensors."""
    facts = [t for row in site.flow.made_at(site.case.source, site.case.op) for t in site.flow.outputs(row)]
    bare = f"{name} = {name}.detach()"
    if site.event is None or len(facts) < 2 or len(site.event.data.get("outputs", ())) < 2:
        return bare
    return f"{name} = tuple(t.detach() for t in {name})"


def _kept(site: Site) -> Iterator[Fix]:
    """Detach a result where it is stored for later."""
    program = site.program
    given = {ast.unparse(one): one for one in program.expressions(site.statement)}
    names = [name for name in site.case.evidence.get("names", ()) if name in given]
    if names:
        texts: dict[ast.AST, str] = {given[name]: f"{operand(program.text(given[name]))}.detach()" for name in names}
        yield from fix(f"keep {listed(f'{name}.detach()' for name in names)}", *program.all_replaced(texts))
    for one in _put_away(site):
        text = operand(program.text(one))
        yield from fix(f"keep {text}.detach()", program.replaced(one, f"{text}.detach()"), tentative=True)
    for one in site.operands[::-1]:
        text = operand(program.text(one))
        yield from fix(f"add {text}.detach()", program.replaced(one, f"{text}.detach()"), tentative=True)


def _put_away(site: Site) -> list[ast.expr]:
    """Return the tensors that a statement puts away: arguments of a call alone, or the value it assigns."""
    statement = site.statement
    given: list[ast.expr] = []
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        given = statement.value.args[:1]
    elif isinstance(statement, ast.Assign | ast.AugAssign):
        given = [statement.value]
    return [part for one in given for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]


def _cycle(site: Site) -> Iterator[Fix]:
    """``loss.backward(create_graph=True)`` goes without, where nothing takes the second derivative."""
    for one in site.program.expressions(site.statement):
        inner = method(one, "backward")
        for keyword in one.keywords if isinstance(one, ast.Call) and inner is not None else ():
            if keyword.arg == "create_graph":
                change = site.program.replaced(keyword.value, "False")
                yield from fix("record no graph of the gradient", change, tentative=True)


def _once(site: Site) -> Iterator[Fix]:
    """Remove a backward call whose loss is part of another one's."""
    yield from fix("leave out this backward", site.program.taken_out(site.statement), tentative=True)


def _with_random_state(site: Site) -> Iterator[Fix]:
    """A checkpoint keeps the state of the generator."""
    for one in site.program.expressions(site.statement):
        for keyword in one.keywords if isinstance(one, ast.Call) else ():
            if keyword.arg == "preserve_rng_state":
                yield from fix("keep the generator's state", site.program.replaced(keyword.value, "True"))


FIXES = {
    "double-count": _once,
    "checkpoint-mismatch": _with_random_state,
    "missing-create-graph": _with_graph,
    "freed-graph": _freed,
    "inplace-modified": _carried,
    "graph-growth": _kept,
    "create-graph-cycle": _cycle,
}
