"""The names of variables in the loops of a file.

Programs run below frames of notebooks, test runners and training libraries, whose files are long and do not change.
So a file is parsed once a process, only its statements are looked at, and what stays is a few names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .syntax import parsed
from .texts import lines_of

_INNER = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements keep those inside them."""
_files: dict[str, tuple[list[str], frozenset[str]]] = {}
"""File -> its source, as ``lines_of`` gives it (another list when the file has changed), and the variables."""


def loop_variables(file: str) -> frozenset[str]:
    """Return the variables of a file's ``for`` loops, which name one thing after the other."""
    lines = lines_of(file)
    known = _files.get(file)
    if known is None or (known[0] is not lines and known[0] != lines):
        targets = [one.target for one in _statements(lines) if isinstance(one, ast.For)]
        names = frozenset(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        known = _files[file] = lines, names
    return known[1]


def _statements(lines: list[str]) -> Iterator[ast.AST]:
    """Yield every statement of a source, outer ones first; nothing if it is not Python."""
    tree = parsed("".join(lines))
    waiting: list[ast.AST] = [] if tree is None else [tree]
    while waiting:
        statement = waiting.pop()
        yield statement
        for inner in _INNER:
            waiting += getattr(statement, inner, ())
