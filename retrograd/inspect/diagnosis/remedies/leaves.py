"""Fixes of leaves: what is to be trained requires gradients, is held by the optimizer, and is the tensor itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from ..text.words import listed
from .program import callee, method
from .site import Site, fix


def _switched_on(site: Site) -> Iterator[Fix]:
    """Make a tensor require gradients where it is made; remove what switches them off."""
    program, statement = site.program, site.statement
    names = [str(name) for name in site.case.evidence.get("frozen", ()) or ()]
    made = {program.text(target): value for target, value in _made(statement)}
    texts: dict[ast.AST, str] = {
        value: f"{operand(program.text(value))}.requires_grad_()" for name, value in made.items() if name in names
    }
    if texts:
        sentence = f"train {listed(name for name in made if name in names)}"
        yield from fix(sentence, *program.all_replaced(texts))
    for one in program.expressions(statement):
        for keyword in one.keywords if isinstance(one, ast.Call) else ():
            if keyword.arg == "requires_grad" and ast.unparse(keyword.value) == "False":
                yield from fix("let it be trained", program.replaced(keyword.value, "True"))
    if isinstance(statement, ast.Expr) and method(statement.value, "requires_grad_") is not None:
        yield from fix("leave it trainable", program.taken_out(statement), tentative=True)


def _made(statement: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Return the names that an assignment sets, each with its value."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return []
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _retained(site: Site) -> Iterator[Fix]:
    """Keep the gradient of a non-leaf by ``retain_grad()``, or make the finished value the leaf."""
    program = site.program
    read = site.first(lambda one: isinstance(one, ast.Attribute) and one.attr == "grad")
    name = program.text(read.value) if isinstance(read, ast.Attribute) else ""
    for statement in program.statements:
        made = [program.text(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.Assign) and name in made:
            change = program.put_after(statement, f"{name}.retain_grad()")
            yield from fix(f"keep the gradient of {name}", change, tentative=True)
            yield from made_leaf(site, statement)


def made_leaf(site: Site, statement: ast.Assign) -> Iterator[Fix]:
    """Make the result of an assignment the leaf, as a Parameter if it is computed from one."""
    program, value = site.program, statement.value
    text = program.text(value)
    wraps = next((one for one in ast.walk(value) if isinstance(one, ast.Call) and callee(one) == "Parameter"), None)
    if wraps is None:
        new = f"{operand(text)}.detach().requires_grad_()"
    else:
        new = f"{program.text(wraps.func)}({operand(text)}.detach())"
    name = program.text(statement.targets[0])
    yield from fix(f"make {name} itself the leaf", program.replaced(value, new), tentative=True)


def _tied(site: Site) -> Iterator[Fix]:
    """The copy is replaced by the parameter itself."""
    statement = site.statement
    if isinstance(statement, ast.Assign):
        value: ast.expr = statement.value
        while (inner := copied(value)) is not None:
            value = inner
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "data":
            target, value = (
                target.value,
                value.value if isinstance(value, ast.Attribute) and value.attr == "data" else value,
            )
        if value is not statement.value:
            text = f"{site.program.text(target)} = {site.program.text(value)}"
            yield from fix("use the same parameter twice", site.program.rewritten(statement, text))


def copied(node: ast.expr) -> ast.expr | None:
    """Return the expression that one layer of a copy wraps."""
    inner = method(node, "clone", "detach", "requires_grad_", "contiguous")
    if inner is not None:
        return inner
    wraps = isinstance(node, ast.Call) and callee(node) in ("deepcopy", "copy", "Parameter") and node.args
    return node.args[0] if wraps and isinstance(node, ast.Call) else None


def _deep(site: Site) -> Iterator[Fix]:
    """``copy.copy`` of a network becomes ``copy.deepcopy``; another name for it becomes a copy."""
    found = site.first(lambda one: isinstance(one, ast.Call) and callee(one) == "copy" and bool(one.args))
    if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        text = f"{site.program.text(found.func.value)}.deepcopy({site.program.text(found.args[0])})"
        yield from fix("copy the parameters, too", site.program.replaced(found, text))
    elif isinstance(site.statement, ast.Assign) and isinstance(site.statement.value, ast.Name | ast.Attribute):
        value = site.statement.value
        first = site.program.statements[0]
        text = f"copy.deepcopy({site.program.text(value)})"
        imported = any(
            isinstance(one, ast.Import) and any(a.name == "copy" for a in one.names) for one in site.program.statements
        )
        changes = [site.program.replaced(value, text)]
        if not imported:
            imports = [one for one in site.program.statements if isinstance(one, ast.Import)]
            changes.append(site.program.put_before(imports[0] if imports else first, "import copy"))
        yield from fix("copy the network", *changes)


FIXES = {
    "frozen-parameter": _switched_on,
    "nonleaf-grad": _retained,
    "broken-tie": _tied,
    "missing-copy": _deep,
}
