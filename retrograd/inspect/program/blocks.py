"""What the statements of a file say of the lines inside them: grad modes that ``with`` enters, variables of ``for``.

Programs run below frames of notebooks, test runners and training libraries, whose files are long and do not change.
So a file is parsed once a process, only its statements are looked at, and what stays is a few names and numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from .syntax import parsed
from .texts import lines_of

_SWITCH = "set_grad_enabled"
_MODES = ("no_grad", "inference_mode", _SWITCH, "enable_grad")
_INNER = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements keep those inside them."""


@dataclass
class _Outline:
    """The blocks of one file, each kind read when first asked for."""

    lines: list[str]
    """The source, as ``lines_of`` gives it: another list when the file has changed."""

    @cached_property
    def switches(self) -> list[tuple[int, int, str]]:
        """First line, last line and grad mode of each ``with`` that enters one."""
        if not any(mode in line for line in self.lines for mode in _MODES):
            return []
        blocks = [one for one in _statements(self.lines) if isinstance(one, ast.With)]
        return [
            (block.lineno, block.end_lineno or 0, entered[-1])
            for block in blocks
            if (entered := list(filter(None, (_mode_entered(item.context_expr) for item in block.items))))
        ]

    @cached_property
    def switched_off(self) -> list[int]:
        """Line of each statement that turns gradients off and leaves them so: ``torch.set_grad_enabled(False)``."""
        if not any(_SWITCH in line for line in self.lines):
            return []
        alone = [one for one in _statements(self.lines) if isinstance(one, ast.Expr | ast.Assign)]
        return sorted(one.lineno for one in alone if _mode_entered(one.value) == _SWITCH)

    @cached_property
    def passing(self) -> frozenset[str]:
        """Variables of the ``for`` loops."""
        targets = [one.target for one in _statements(self.lines) if isinstance(one, ast.For)]
        return frozenset(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


_files: dict[str, _Outline] = {}


def block_around(code: CodeType, line: int) -> tuple[str, int] | None:
    """Return name and line of the innermost ``with`` of a grad mode around a line of this code, None without one."""
    around = [
        (first, name)
        for first, last, name in _outline(code.co_filename).switches
        if code.co_firstlineno <= first < line <= last
    ]
    if not around:
        return None
    first, name = max(around)
    return name, first


def switched_off(file: str) -> list[int]:
    """Return the lines of a file that turn gradients off by a statement alone, for all that follows."""
    return _outline(file).switched_off


def loop_variables(file: str) -> frozenset[str]:
    """Return the variables of a file's ``for`` loops, which name one thing after the other."""
    return _outline(file).passing


def _outline(name: str) -> _Outline:
    """Return the blocks of a file as it is now."""
    lines = lines_of(name)
    known = _files.get(name)
    if known is None or (known.lines is not lines and known.lines != lines):
        known = _files[name] = _Outline(lines)
    return known


def _statements(lines: list[str]) -> Iterator[ast.AST]:
    """Yield every statement of a source, those in which others stand first; nothing if it is none of Python's."""
    tree = parsed("".join(lines))
    waiting: list[ast.AST] = [] if tree is None else [tree]
    while waiting:
        statement = waiting.pop()
        yield statement
        for inner in _INNER:
            waiting += getattr(statement, inner, ())


def _mode_entered(node: ast.expr) -> str:
    """Return the name of the grad mode that a context expression enters, "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    if name not in _MODES:
        return ""
    switched = ast.unparse(node.args[0]) if node.args else ""
    if (name == "set_grad_enabled" and switched == "True") or (name == "inference_mode" and switched == "False"):
        return "enable_grad"
    return str(name)
