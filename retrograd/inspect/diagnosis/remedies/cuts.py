"""Fixes of cuts: a call that takes a tensor out of the graph is removed, or moved to where it belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...fixes import Fix
from ..text.spelling import operand
from .program import callee, method
from .site import Site, fix

_METHODS = ("detach", "detach_", "numpy", "tolist", "item", "cpu", "requires_grad_", "clone")
"""Methods that occur on a path through numbers and back."""
_WRAPPERS = frozenset({
    "float", "int", "tensor", "as_tensor", "from_numpy", "array", "asarray", "Variable", "Parameter",
})  # fmt: skip
"""Functions, likewise."""
_COPIES = frozenset({"tensor", "as_tensor"})
"""Functions that also take lists of tensors, and copy their values."""
_PLAIN = frozenset({"numpy", "tolist", "array", "asarray"})
"""Functions whose result may be used by other code than tensor operations."""
_HARMLESS = frozenset({"cpu", "requires_grad_", "clone"})
"""Methods that cut nothing by themselves."""
_MODES = frozenset({"no_grad", "inference_mode"})


def _within(node: ast.expr) -> tuple[ast.expr, bool] | None:
    """Return the expression that one layer wraps, and whether the layer cuts; None if it is not a layer."""
    inner = method(node, *_METHODS)
    if inner is not None:
        return inner, callee(node) not in _HARMLESS
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value, True
    if isinstance(node, ast.Call) and callee(node) in _WRAPPERS and node.args:
        return node.args[0], True
    return None


def _uncut(site: Site, node: ast.expr) -> str:
    """Return the text of an expression without the layers that cut, lists of tensors stacked."""
    if isinstance(node, ast.List | ast.Tuple):
        return f"{site.engine}.stack([{', '.join(_uncut(site, one) for one in node.elts)}])"
    if isinstance(node, ast.ListComp):
        whole, element = site.program.text(node), site.program.text(node.elt)
        return f"{site.engine}.stack([{_uncut(site, node.elt)}{whole[1 + len(element) :]})"
    layer = _within(node)
    if layer is not None:
        return _uncut(site, layer[0])
    text = site.program.text(node)
    for one in sorted(_outermost_cuts(node), key=lambda one: one.col_offset, reverse=True):
        inner, written = _uncut(site, one), site.program.text(one)
        text = inner.join(text.rsplit(written, 1))
    return text


def _outermost_cuts(node: ast.expr) -> list[ast.expr]:
    """Return the outermost layers in an expression."""
    found: list[ast.expr] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.expr) and _within(part) is not None:
            found.append(part)
        else:
            waiting += ast.iter_child_nodes(part)
    return found


def _cuts(node: ast.expr) -> bool:
    """Whether an expression is a layer that cuts, or layers around one."""
    layer = _within(node)
    while layer is not None:
        node, cutting = layer
        if cutting:
            return True
        layer = _within(node)
    return False


def _cut(site: Site) -> Iterator[Fix]:
    """A cut in an expression is left out, the block or statement that switches gradients off is taken away."""
    if site.case.evidence.get("stays"):  # the cut is right where it is, and something else is missing
        return
    program = site.program
    if site.case.evidence.get("hook"):
        yield from _unreturned(site)
        return
    if site.case.evidence.get("step"):
        yield from _written_in_place(site)
        return
    yield from _without_mode(site)
    kept = site.first(lambda one: method(one, "state_dict") is not None)
    if isinstance(kept, ast.Call) and not any(map(_cuts, program.expressions(site.statement))):
        change = program.with_keyword(kept, "keep_vars", "True")
        yield from fix("take the parameters themselves, which keep_vars=True gives", change)
    found = site.first(_cuts)
    if found is not None and not site.uses_others(found):
        yield from _without_layers(site, found)
    drawn = site.first(lambda one: method(one, "sample") is not None)
    if isinstance(drawn, ast.Call) and isinstance(drawn.func, ast.Attribute):
        text = f"{program.text(drawn.func.value)}.rsample{program.text(drawn)[len(program.text(drawn.func)) :]}"
        yield from fix("draw by rsample(), which passes gradients on", program.replaced(drawn, text))


def _unreturned(site: Site) -> Iterator[Fix]:
    """Make a hook that only reads a result return nothing, so that the result is kept."""
    program, hook = site.program, site.program.function(site.statement)
    found = [one for one in ast.walk(hook) if isinstance(one, ast.Return)] if hook is not None else []
    for one in found:
        if program.function(one) is hook and isinstance(hook, ast.FunctionDef) and one.value is not None:
            change = program.taken_out(one) or program.rewritten(one, "return None")
            yield from fix(f"let {hook.name} return nothing", change)


def _without_layers(site: Site, found: ast.expr) -> Iterator[Fix]:
    """All layers of a cut are left out; or the outermost that cuts alone."""
    program, statement = site.program, site.statement
    text = _uncut(site, found)
    kept = operand(text) if isinstance(next(program.around(found), None), ast.Attribute | ast.BinOp) else text
    whole = isinstance(statement, ast.Assign) and statement.value is found
    same = whole and isinstance(statement, ast.Assign) and program.text(statement.targets[0]) == text
    yield from fix(
        f"use {text} itself, with its history",
        program.taken_out(statement) if same else program.replaced(found, kept),
        tentative=_makes_another_sort(site, found),
    )
    if callee(found) in _COPIES and isinstance(found, ast.Call) and _makes_another_sort(site, found):
        stacked = f"{site.engine}.stack({program.text(found.args[0])})"
        yield from fix("stack the tensors, with their history", program.replaced(found, stacked), tentative=True)
    layer = _within(found)
    while layer is not None and callee(found) in _HARMLESS:
        found, layer = layer[0], _within(layer[0])
    if layer is not None and _within(layer[0]) is not None:
        yield from fix(
            f"leave out {_layer_text(found)}", program.replaced(found, program.text(layer[0])), tentative=True
        )


def _makes_another_sort(site: Site, found: ast.expr) -> bool:
    """Whether code around a cut may need its result type: an array or number, or a tensor made of a list."""
    if callee(found) in _COPIES and isinstance(found, ast.Call):
        inner = found.args[0]
        if _has_numbers(inner) or _is_of_rows(site):
            return True  # stack takes tensors alone, and of rows of one entry it makes another shape
        listed = isinstance(inner, ast.List | ast.Tuple | ast.ListComp) or _within(inner) is not None
        return not listed and not _is_tensor(site, inner)
    return callee(found) in _PLAIN


def _has_numbers(node: ast.expr) -> bool:
    """Whether a list, or one within it, has numbers written out among its entries."""
    entries = [one for part in ast.walk(node) if isinstance(part, ast.List | ast.Tuple) for one in part.elts]
    return any(isinstance(one, ast.Constant) for one in entries)


def _is_of_rows(site: Site) -> bool:
    """Whether a call copies tensors of one entry that have a dimension."""
    given = [] if site.event is None else site.event.data.get("inputs", ())
    return len(given) > 1 and any(site.flow.facts(one).shape for one in given)


def _is_tensor(site: Site, node: ast.expr) -> bool:
    """Whether a call on this line took the value of an expression, so that it is a tensor."""
    text, line = ast.unparse(node), site.case.source
    events = (event for event in site.flow.events if event.source == line)
    return any(text in event.data.get("names", ()) for event in events)


def _layer_text(node: ast.expr) -> str:
    """Return how one layer of a cut is called."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else f"{callee(node)}()"


def _written_in_place(site: Site) -> Iterator[Fix]:
    """A step writes its result into what stood for the name that it gives it, and clears the gradient."""
    statement = site.program.statement(site.case.evidence.get("step") or site.line)
    off = any(event.data.get("grad") is False for event in site.flow.events if event.source == site.case.source)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and (off or site.case.evidence.get("step")):
        name = site.program.text(statement.targets[0])
        lines = [f"{name}.copy_({site.program.text(statement.value)})"]
        leaves = [leaf for leaf in site.case.subjects if leaf in site.flow.accumulated]
        if any(site.flow.ledger.cleared_at(leaf, len(site.flow.events)) < 0 for leaf in leaves):
            lines.append(f"{name}.grad = None")
        yield from fix(f"write into {name} itself", site.program.rewritten(statement, *lines))


def _without_mode(site: Site) -> Iterator[Fix]:
    """The ``with``, decorator or statement that switches gradients off is left out."""
    program, statement = site.program, site.statement
    if isinstance(statement, ast.With):
        modes = [item for item in statement.items if callee(item.context_expr) in _MODES]
        if modes and len(statement.items) == 1:
            yield from fix("leave gradients on here", program.dedented(statement))
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in statement.decorator_list:
            if _MODES & {callee(decorator), str(getattr(decorator, "attr", ""))}:
                yield from fix("leave gradients on in this function", program.line_out(decorator))
    if isinstance(statement, ast.Expr) and callee(statement.value) == "set_grad_enabled":
        yield from fix("leave gradients on", program.taken_out(statement))
    for one in program.expressions(statement):
        if isinstance(one, ast.Call):
            for keyword in one.keywords:
                if keyword.arg == "use_reentrant" and ast.unparse(keyword.value) == "True":
                    change = program.replaced(keyword.value, "False")
                    yield from fix(
                        "checkpoint without reentrant autograd, which passes gradients to parameters", change
                    )


def _detached(site: Site) -> Iterator[Fix]:
    """The tensor that is to have no gradient is detached, behind the line that makes it or where it is used."""
    statement, program = site.statement, site.program
    part = site.case.evidence.get("part")
    if part and (written := site.first(lambda one: ast.unparse(one) == part)) is not None:
        text = part if isinstance(written, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({part})"
        yield from fix(f"detach {part} there", program.replaced(written, f"{text}.detach()"))
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(target, ast.Name):
        value = operand(program.text(statement.value))
        change = program.replaced(statement.value, f"{value}.detach()")
        yield from fix(f"detach {target.id}", change, tentative=_serves_otherwise(site, target.id))
    for one in reversed(site.operands):
        text = program.text(one)
        yield from fix(f"detach {text} there", program.replaced(one, f"{operand(text)}.detach()"), tentative=True)


def _serves_otherwise(site: Site, name: str) -> bool:
    """Whether a name holds one number, so a loss, or is used in several places, so not only as a target."""
    function = site.program.function(site.statement)
    nodes = ast.walk(function) if function is not None else ()
    taken = sum(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load) for one in nodes)
    single = any(facts.name == name and not facts.shape for facts in site.flow.recording.tensors)
    return single or taken > 1


def _numpy(site: Site) -> Iterator[Fix]:
    """``x.numpy()`` becomes ``x.detach().numpy()``."""
    names = {name for tensor in site.case.subjects for name in site.flow.spelling.names(tensor)}
    named = site.first(lambda one: (of := method(one, "numpy")) is not None and ast.unparse(of) in names)
    found = named or site.first(lambda one: method(one, "numpy") is not None)
    if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        inner = site.program.text(found.func.value)
        yield from fix("detach it first", site.program.replaced(found.func.value, f"{inner}.detach()"))


def _inference(site: Site) -> Iterator[Fix]:
    """``inference_mode`` becomes ``no_grad`` wherever the function around the line enters it."""
    program = site.program
    around = [site.statement, *program.around(site.statement)]
    for one in around:
        heads: list[ast.expr] = []
        if isinstance(one, ast.With):
            heads = [item.context_expr for item in one.items]
        elif isinstance(one, ast.FunctionDef):
            heads = one.decorator_list
        for head in heads:
            named = head.func if isinstance(head, ast.Call) else head
            if isinstance(named, ast.Attribute) and named.attr == "inference_mode":
                text = f"{program.text(named.value)}.no_grad()"
                yield from fix("switch gradients off by no_grad()", program.replaced(head, text))


FIXES = {
    "broken-chain": _cut,
    "lost-update": _written_in_place,
    "nondifferentiable": _cut,
    "missing-detach": _detached,
    "numpy-on-grad": _numpy,
    "inference-tensor": _inference,
}
