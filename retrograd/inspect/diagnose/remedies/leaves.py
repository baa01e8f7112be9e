"""Fixes of leaves: what is to be trained requires gradients, is held by the optimizer, and is the tensor itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from .program import callee, method
from .site import Site, fix


def _switched_on(site: Site) -> Iterator[Fix]:
    """What was made without gradients gets them where it is made; what switches them off is left out."""
    program, statement = site.program, site.statement
    names = [str(name) for name in site.case.evidence.get("frozen", ()) or ()]
    targets = [program.text(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.Assign) and len(names) == 1 and targets == names:
        value = operand(program.text(statement.value))
        yield from fix(f"{names[0]} is to be trained", program.replaced(statement.value, f"{value}.requires_grad_()"))
    for one in program.expressions(statement):
        for keyword in one.keywords if isinstance(one, ast.Call) else ():
            if keyword.arg == "requires_grad" and ast.unparse(keyword.value) == "False":
                yield from fix("let it be trained", program.replaced(keyword.value, "True"))
    if isinstance(statement, ast.Expr) and method(statement.value, "requires_grad_") is not None:
        yield from fix("leave it trainable", program.taken_out(statement), tentative=True)


def _retained(site: Site) -> Iterator[Fix]:
    """The gradient of what is no leaf is kept by ``retain_grad()``."""
    statement = site.statement
    made = (
        [target for target in statement.targets if isinstance(target, ast.Name | ast.Attribute)]
        if isinstance(statement, ast.Assign)
        else []
    )
    for target in made:
        name = site.program.text(target)
        yield from fix(
            f"keep the gradient of {name}", site.program.put_after(statement, f"{name}.retain_grad()"), tentative=True
        )


def _tied(site: Site) -> Iterator[Fix]:
    """The copy is replaced by the parameter itself."""
    statement = site.statement
    if isinstance(statement, ast.Assign):
        value: ast.expr = statement.value
        while (inner := _copied(value)) is not None:
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


def _copied(node: ast.expr) -> ast.expr | None:
    """Return what one layer of a copy is written around."""
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


def _held(site: Site) -> Iterator[Fix]:
    """The optimizer is given the parameters that it lacks, by the modules that they belong to."""
    program = site.program
    found = site.first(
        lambda one: isinstance(one, ast.Call) and bool(one.args) and "arameters" in program.text(one.args[0])
    )
    given = found.args[0] if isinstance(found, ast.Call) else None
    inner = None if given is None else method(given, "parameters")
    if given is None or inner is None:
        return
    if isinstance(inner, ast.Attribute):  # a part of the model: all of it
        whole = program.text(inner.value)
        yield from fix(f"give it all parameters of {whole}", program.replaced(inner, whole))
    missing = [str(name) for name in site.case.evidence.get("missing", ()) or ()]
    modules = list(dict.fromkeys(name.rpartition(".")[0] for name in missing))
    if modules and all(name.isidentifier() and _in_scope(site, name) for name in modules):
        parts = ", ".join(f"*{name}.parameters()" for name in modules)
        more = f"[*{program.text(given)}, {parts}]"
        yield from fix("give it the missing parameters as well", program.replaced(given, more))
        if len(modules) == 1:
            yield from fix(
                "give it the parameters of its own loss", program.replaced(inner, modules[0]), tentative=True
            )


def _in_scope(site: Site, name: str) -> bool:
    """Whether a variable is assigned before the line, in its function or in the file."""
    bound = [one for one in site.program.statements if one.lineno < site.line and isinstance(one, ast.Assign)]
    places = (site.program.function(site.statement), site.program.tree)
    return any(site.program.binds(one, name) and site.program.function(one) in places for one in bound)


def _registered(site: Site) -> Iterator[Fix]:
    """Layers in a plain list or dictionary are put into one that a module registers."""
    statement = site.statement
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
        return
    if site.engine and isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp):
        kind = "ModuleList" if isinstance(value, ast.List | ast.ListComp) else "ModuleDict"
        text = f"{site.engine}.nn.{kind}({site.program.text(value)})"
        yield from fix(f"let the module register them: {kind}", site.program.replaced(value, text))


def _either(site: Site) -> Iterator[Fix]:
    yield from _held(site)
    yield from _registered(site)


FIXES = {
    "frozen-parameter": _switched_on,
    "nonleaf-grad": _retained,
    "broken-tie": _tied,
    "missing-copy": _deep,
    "optimizer-mismatch": _either,
}
