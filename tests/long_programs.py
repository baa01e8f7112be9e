"""Programs of ``tests/bug_programs/`` made long: their loops that run backward go round many times."""

from __future__ import annotations

import ast


def lengthened(text: str, count: int) -> str | None:
    """Return a program whose outermost loops over ``range`` that train go round ``count`` times; None without any."""
    lines = text.splitlines()
    changed = False
    for loop in _training_loops(ast.parse(text)):
        given = loop.iter
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == "range":
            (bound,) = given.args[-1:]
            line = lines[bound.lineno - 1]
            if isinstance(bound, ast.Constant) and isinstance(bound.value, int) and bound.value < count:
                lines[bound.lineno - 1] = f"{line[: bound.col_offset]}{count}{line[bound.end_col_offset :]}"
                changed = True
    return "\n".join(lines) + "\n" if changed else None


def _training_loops(tree: ast.AST) -> list[ast.For]:
    """Return the outermost loops in which a backward run or a step of an optimizer is written."""
    found: list[ast.For] = []
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.For) and _trains(node):
            found.append(node)
        else:
            todo += ast.iter_child_nodes(node)
    return found


def _trains(loop: ast.For) -> bool:
    called = {
        node.func.attr for node in ast.walk(loop) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return bool(called & {"backward", "step", "grad"})
