"""Where a finding is to be fixed: the program's text, the case, and what was recorded at its line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ...fixes import Change, Fix
from ...program.texts import plain_lines
from ...recording.events import Event, Recording
from ..base import Case
from ..facts.flow import Flow
from .program import Program

_ENGINES = frozenset({"torch", "retrograd"})


@dataclass(frozen=True)
class Site:
    """One case, at its line."""

    program: Program
    case: Case
    flow: Flow
    line: int

    @cached_property
    def statement(self) -> ast.stmt:
        """The statement at the line."""
        found = self.program.statement(self.line)
        assert found is not None, "a site has a statement"
        return found

    @cached_property
    def event(self) -> Event | None:
        """The first call of the case's operator at the line."""
        rows = self.flow.made_at(self.case.source, self.case.op)
        return self.flow.events[rows[0]] if rows else None

    @cached_property
    def operands(self) -> list[ast.expr]:
        """The expressions of the statement that spell the tensors which that call took, in its order."""
        names = [] if self.event is None else self.event.data.get("names", ())
        written = {ast.unparse(one): one for one in reversed(self.program.expressions(self.statement))}
        return [written[name] for name in names if name in written]

    @cached_property
    def engine(self) -> str:
        """The file's name for the engine's package: ``torch``, or as imported; "" if it is not."""
        for one in self.program.statements:
            for alias in one.names if isinstance(one, ast.Import) else ():
                if alias.name in _ENGINES:
                    return alias.asname or alias.name
        return ""

    @cached_property
    def _others(self) -> frozenset[str]:
        """Names of the modules that the file imports, but for the engine's own."""
        imports = [one for one in self.program.statements if isinstance(one, ast.Import)]
        names = {(a.asname or a.name.split(".")[0]): a.name.split(".")[0] for one in imports for a in one.names}
        return frozenset(name for name, package in names.items() if package not in _ENGINES)

    def uses_others(self, node: ast.expr) -> bool:
        """Whether an expression uses another package, such as NumPy, which takes no tensors with a history."""
        return any(isinstance(one, ast.Name) and one.id in self._others for one in ast.walk(node))

    def first(self, *chosen: Callable[[ast.expr], bool]) -> ast.expr | None:
        """Return the outermost expression at the line of which one of these is true."""
        return self.program.expression(self.line, lambda one: any(question(one) for question in chosen))


Propose = Callable[[Site], Iterator[Fix]]
"""Proposes fixes of one kind of finding."""


def fix(sentence: str, *changes: Change | None, tentative: bool = False) -> Iterator[Fix]:
    """Yield a fix of these changes, unless one of them cannot be made."""
    made = tuple(change for change in changes if change is not None)
    if made and len(made) == len(changes):
        yield Fix(sentence, made, tentative=tentative)


def program_text(file: str, recording: Recording) -> Program | None:
    """Return a file of the program; None if it is unavailable, or has changed since it was recorded."""
    try:
        lines = plain_lines(file)
    except UnicodeError:  # a name that no file system has
        return None
    kept = recording.sources.get(file, {})
    same = all(0 < number <= len(lines) and lines[number - 1] == text for number, text in kept.items())
    return Program(file, lines) if lines and same else None
