"""Fixes of optimizers: they hold what is trained, they are made after it, and they step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ...operators import Trait
from .leaves import copied, made_leaf
from .program import Program, callee, method
from .site import Site, fix

_COPYING = frozenset({"clone", "copy", "deepcopy"})
"""Functions that return other memory with the same values."""


def _either(site: Site) -> Iterator[Fix]:
    for propose in (_stepped, _themselves, _held, _registered, _made_later, _read_again):
        yield from propose(site)
    if site.case.evidence.get("result") and isinstance(site.statement, ast.Assign):
        yield from made_leaf(site, site.statement)


def _stepped(site: Site) -> Iterator[Fix]:
    """The optimizer that never steps does, behind backward; ``opt.step`` alone is called."""
    name = str(site.case.evidence.get("never_stepped", ""))
    program = site.program
    if not name:
        return
    for one in program.statements:
        if isinstance(one, ast.Expr) and program.text(one.value) == f"{name}.step":
            yield from fix(f"call {name}.step", program.replaced(one.value, f"{name}.step()"))
            return
    if isinstance(site.statement, ast.Expr) and method(site.statement.value, "backward") is not None:
        yield from fix(f"{name}.step() behind backward", program.put_after(site.statement, f"{name}.step()"))


def _themselves(site: Site) -> Iterator[Fix]:
    """Train the tensors themselves, not copies of them."""
    for one in site.program.expressions(site.statement):
        value, layers = one, set[str]()
        while (inner := copied(value)) is not None:
            layers.add(callee(value))
            value = inner
        if layers & _COPYING and _copies_parameters(site):
            text = site.program.text(value)
            yield from fix(f"use {text} itself, not a copy", site.program.replaced(one, text))
            return


def _copies_parameters(site: Site) -> bool:
    """Whether the tensors that the line copies have gradients, as far as its calls were recorded."""
    calls = [row for row, event in enumerate(site.flow.events) if event.source == site.case.source]
    copied = [one for row in calls if site.flow.does(row, Trait.COPY) for one in site.flow.inputs(row)]
    return not copied or any(map(site.flow.requires_grad, copied))


def _read_again(site: Site) -> Iterator[Fix]:
    """Parameters that are read twice are kept as a list."""
    program = site.program
    names = {one.id for one in program.expressions(site.statement) if isinstance(one, ast.Name)}
    for one in program.statements:
        if isinstance(one, ast.Assign) and method(one.value, "parameters") is not None:
            target = program.text(one.targets[0])
            if target in names:
                change = program.replaced(one.value, f"list({program.text(one.value)})")
                yield from fix(f"keep {target} as a list", change)


def _made_later(site: Site) -> Iterator[Fix]:
    """Make the optimizer once all its parameters exist: before its first use, or the next loop, or the end."""
    program, op = site.program, site.case.op
    made = [one for one in program.statements if isinstance(one, ast.Assign) and callee(one.value) == op]
    if not site.case.evidence.get("missing") or site.statement in made:
        return
    for one in made:
        passed = _before_its_use(program.following(one), f"{program.text(one.targets[0])}.", program)
        if passed:
            changes = (program.taken_out(one), program.put_after(passed[-1], program.text(one)))
            sentence = f"make {program.text(one.targets[0])} when its parameters are there"
            yield from fix(sentence, *changes, tentative=True)


def _before_its_use(following: list[ast.stmt], use: str, program: Program) -> list[ast.stmt]:
    """Return the statements before a loop, a return, or one that uses a variable."""
    found: list[ast.stmt] = []
    for one in following:
        if isinstance(one, ast.For | ast.While | ast.Return) or use in program.text(one):
            break
        found.append(one)
    return found


def _held(site: Site) -> Iterator[Fix]:
    """The optimizer is given the parameters that it lacks, by the modules that they belong to."""
    program = site.program
    found = site.first(lambda one: callee(one) == site.case.op and isinstance(one, ast.Call) and bool(one.args))
    given = found.args[0] if isinstance(found, ast.Call) else None
    missing = [str(name) for name in site.case.evidence.get("missing", ()) or ()]
    if given is None or not missing:
        return
    inner = method(given, "parameters")
    owners = list(dict.fromkeys(_owner(name) for name in missing))
    if isinstance(inner, ast.Attribute):  # a part of the model: what stands beside it, or all of it
        whole = program.text(inner.value)
        known = {program.text(target) for one in _assigned_before(site) for target in one.targets}
        beside = [[one for part in name.split(".")[:-1] if (one := f"{whole}.{part}") in known] for name in missing]
        if all(beside):
            owners = list(dict.fromkeys(found[0] for found in beside))
        else:
            yield from fix(f"give it all parameters of {whole}", program.replaced(inner, whole))
    if all(_in_scope(site, owner.split("[")[0].split(".")[0]) or "." in owner for owner in owners):
        parts = ", ".join(owner if owner in missing else f"*{owner}.parameters()" for owner in owners)
        own = parts[1:] if len(owners) == 1 and parts.startswith("*") else f"[{parts}]"
        twin = _has_twin(site, found, program.text(given))
        others = bool(site.case.evidence.get("stale")) or _has_groups(given)  # it may lack nothing but these
        if not twin:
            new = f"[*{program.text(given)}, {parts}]"
            yield from fix("give it the missing parameters too", program.replaced(given, new), tentative=others)
        sentence = "give it the parameters that its loss is to train"
        yield from fix(sentence, program.replaced(given, own), tentative=not twin)


def _has_twin(site: Site, found: ast.expr | None, given: str) -> bool:
    """Whether another optimizer of the file gets the same parameters."""
    types = {one.event.op for one in site.flow.ledger.optimizers.values()}
    tree = site.program.tree
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)] if tree is not None else []
    twins = [one for one in calls if callee(one) in types and one is not found and one.args]
    return any(site.program.text(one.args[0]) == given for one in twins)


def _owner(name: str) -> str:
    """Return the variable of the module that a parameter belongs to; of a tensor its own name."""
    return name.split(".")[0] if "." in name else name


def _has_groups(given: ast.expr) -> bool:
    """Whether an optimizer's argument is written as groups."""
    return isinstance(given, ast.List) and any(isinstance(one, ast.Dict) for one in given.elts)


def _in_scope(site: Site, name: str) -> bool:
    """Whether a variable is assigned before the line, in its function or in the file."""
    places = (site.program.function(site.statement), site.program.tree)
    return any(site.program.binds(one, name) and site.program.function(one) in places for one in _assigned_before(site))


def _assigned_before(site: Site) -> list[ast.Assign]:
    """Return the assignments before the line."""
    return [one for one in site.program.statements if one.lineno < site.line and isinstance(one, ast.Assign)]


def _registered(site: Site) -> Iterator[Fix]:
    """Put layers or parameters of a plain list or dictionary into a container that modules register."""
    statement = site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Attribute) or value is None or not site.engine:
        return
    container = "List" if isinstance(value, ast.List | ast.ListComp) else "Dict"
    sort = _sort_of_elements(site, target.attr)
    if sort and isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp) and _fits(value):
        text = f"{site.engine}.nn.{sort}{container}({site.program.text(value)})"
        yield from fix(f"let the module register them: {sort}{container}", site.program.replaced(value, text))


def _sort_of_elements(site: Site, attribute: str) -> str:
    """Return the kind of an attribute's elements, by the names of the missing parameters; None if mixed.

    ``scales.0`` of ``self.scales`` is an element itself; ``blocks.0.weight`` belongs to one, which is a module.
    """
    found = set()
    for name in site.case.evidence.get("missing", ()) or ():
        _, inside, rest = f".{name}".rpartition(f".{attribute}.")
        found.add(("Parameter" if "." not in rest else "" if rest[-1].isdigit() else "Module") if inside else "")
    return found.pop() if len(found) == 1 else ""


def _fits(value: ast.List | ast.ListComp | ast.Dict | ast.DictComp) -> bool:
    """Whether a module container can hold the written value: no nested containers, and keys that may be text."""
    elements: list[ast.expr] = [value.elt] if isinstance(value, ast.ListComp) else getattr(value, "elts", [])
    keys: list[ast.expr | None] = []
    if isinstance(value, ast.DictComp):
        elements, keys = [value.value], [value.key]
    elif isinstance(value, ast.Dict):
        elements, keys = value.values, value.keys
    text = all(isinstance(getattr(key, "value", ""), str | ast.expr) for key in keys)
    within = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.Constant)
    return text and not any(isinstance(one, within) for one in elements)


FIXES = {"optimizer-mismatch": _either}
