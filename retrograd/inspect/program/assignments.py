"""Where a program's files give an attribute of a certain name a value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..snapshot import SourceLine
from .syntax import parsed
from .texts import lines_of


def line_assigning(attribute: str, files: Iterable[str]) -> SourceLine | None:
    """Return the one line of these files that sets an attribute of this name, None for none or several."""
    found = [line for file in files for line in _lines_assigning(attribute, file)]
    return found[0] if len(found) == 1 else None


def _lines_assigning(attribute: str, file: str) -> Iterator[SourceLine]:
    """Yield those of one file, with the function that each stands in."""
    text = "".join(lines_of(file))
    tree = parsed(text) if attribute in text else None
    waiting: list[tuple[ast.AST, str]] = [] if tree is None else [(tree, "<module>")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute) and target.attr == attribute for target in targets):
                yield SourceLine(file, node.lineno, function)
        waiting += [(child, function) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
