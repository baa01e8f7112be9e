"""The source of a custom Function, of either engine: its rules, its argument names, what it stores."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Container, Iterator
from types import CellType, CodeType, ModuleType
from typing import Any

from ..program.frames import is_foreign, last_return
from ..program.syntax import parsed


def code_of(function: Any) -> CodeType | None:
    """Return the code object of a Python function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def definition(forward: Any, backward: Any, setup_context: Any) -> dict[str, Any]:
    """Return where forward and backward are defined, where backward returns, and forward's parameters."""
    found: dict[str, Any] = {}
    code = code_of(forward)
    rule = None if backward is None else code_of(backward)
    for key, known in (("forward", code), ("backward", rule)):
        if known is not None:
            found[f"{key}_line"] = [known.co_filename, _definition_line(known), known.co_name]
            found[f"{key}_end"] = max(line for _, _, line in known.co_lines() if line)
    if rule is not None:
        found["return_line"] = last_return(rule)
    if code is not None:
        names = code.co_varnames[: code.co_argcount]
        setup = code_of(setup_context)
        found["parameters"] = list(names if setup is not None and not is_foreign(setup) else names[1:])
    return found


@functools.lru_cache(maxsize=1000)
def _tree(code: CodeType) -> tuple[ast.AST | None, int]:
    """Return the syntax tree of a function, and the offset of its line numbers."""
    try:
        return parsed(textwrap.dedent(inspect.getsource(code))), code.co_firstlineno - 1
    except (OSError, SyntaxError, TypeError):
        return None, 0


def _definition_line(code: CodeType) -> int:
    """Return the line of ``def``, below its decorators."""
    tree, shift = _tree(code)
    first = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None) if tree else None
    return code.co_firstlineno if first is None else first.lineno + shift


def kept_on_ctx(ctx: Any, cls: Any, tensor: type, inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    """Return which tensors the forward of ``cls`` stored as attributes of ``ctx``, and the lines that did it."""
    lines: dict[str, int] = {}
    for function in (cls.forward, cls.setup_context):
        code = code_of(function)
        if code is not None and not is_foreign(code):
            lines |= _stored_by_helpers(function, code) | _stored_at(code)
    attributes = dict(_stored_tensors(vars(ctx), tensor, lines))
    if not attributes:
        return {}
    given, made = {id(one) for one in inputs}, {id(one) for one in outputs}
    kinds = {
        name: "output" if made & held.keys() else "input" if given >= held.keys() else "intermediate"
        for name, held in attributes.items()
    }
    return {"kept": kinds, "kept_lines": {name: lines[name] for name in kinds if name in lines}}


def _stored_tensors(
    attributes: dict[str, Any], tensor: type, stored: Container[str]
) -> Iterator[tuple[str, dict[int, Any]]]:
    """Yield (name, tensors by ``id``) for attributes that are tensors, or collections that a line stored."""
    for name, value in attributes.items():
        inside = _entries(value, tensor)
        entries = [value] if inside is None else inside if name in stored else []
        held = {id(entry): entry for entry in entries if isinstance(entry, tensor)}
        if held:
            yield name, held


def _entries(value: Any, tensor: type) -> list[Any] | None:
    """Return the entries of a list, tuple, dict or plain object with attributes; nothing for other objects."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (tensor, type, ModuleType)):
        return None
    try:
        return list(object.__getattribute__(value, "__dict__").values())  # runs no code of the object's class
    except (AttributeError, TypeError):
        return None


def _stored_by_helpers(function: Any, code: CodeType) -> dict[str, int]:
    """Return the same for functions in the file that a function passes its ``ctx`` to."""
    tree, _ = _tree(code)
    context = code.co_varnames[0] if code.co_argcount else "ctx"
    names = _names_seen(inspect.unwrap(function))
    found: dict[str, int] = {}
    for node in ast.walk(tree) if tree else ():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        helper = code_of(names.get(node.func.id))
        places = [place for place, one in enumerate(node.args) if isinstance(one, ast.Name) and one.id == context]
        if helper is not None and helper.co_filename == code.co_filename and places and places[0] < helper.co_argcount:
            found |= _stored_at(helper, places[0])
    return found


def _names_seen(function: Any) -> dict[str, Any]:
    """Return the outer variables of a function: those of its module and of enclosing functions."""
    free = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in free if cell != CellType()}}


def _stored_at(code: CodeType, place: int = 0) -> dict[str, int]:
    """Return the line of each ``ctx.name = ...`` in a function, by name; ``ctx`` is the argument at ``place``."""
    tree, shift = _tree(code)
    context = code.co_varnames[place] if code.co_argcount > place else "ctx"
    found: dict[str, int] = {}
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Attribute(value=ast.Name(id=holder), ctx=ast.Store()) if holder == context:
                found.setdefault(node.attr, node.lineno + shift)
    return found


def gradient_line(code: CodeType, argument: int) -> int | None:
    """Return the line of a backward rule that computes the gradient of one argument, if its text shows it."""
    tree, shift = _tree(code)
    statements = list(_own_statements(tree)) if tree else []
    returns = [one.value for one in statements if isinstance(one, ast.Return) and one.value is not None]
    if not returns:
        return None
    value = max(returns, key=lambda one: one.lineno)
    entries = value.elts if isinstance(value, ast.Tuple) else [value]
    entry = entries[argument] if argument < len(entries) else value
    line = entry.lineno
    if isinstance(entry, ast.Name):
        line = max((one.lineno for one in statements if _assigns(one, entry.id) and one.lineno < line), default=line)
    return line + shift


def _own_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a function, without those of functions inside it."""
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    todo: list[ast.AST] = [] if function is None else list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.expr)):
            todo.extend(ast.iter_child_nodes(node))


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Whether a statement assigns a variable."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    else:
        return False
    return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))
