"""The text of a program's file as fixes change it: its statements and expressions, and changes of them.

What is proposed is made of the program's own text, so that its names, its quotes and its layout stay as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ...fixes import Change
from ...program.syntax import parsed
from ..text.spelling import called

Choice = Callable[[ast.expr], bool]
"""Whether an expression is the one that is meant."""


class Program:
    """One file."""

    def __init__(self, file: str, lines: Sequence[str]) -> None:
        self.file = file
        self.lines = lines
        """Without their ends."""

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree; None if the file is not Python."""
        return parsed("\n".join(self.lines) + "\n")

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        """Syntax node -> its parent."""
        found: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree) if self.tree is not None else ():
            found.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        return found

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement, in the order of their lines."""
        nodes = [] if self.tree is None else [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))

    # -- finding

    def statement(self, line: int) -> ast.stmt | None:
        """Return the innermost statement that a line belongs to."""
        around = [one for one in self.statements if one.lineno <= line <= (one.end_lineno or one.lineno)]
        return min(around, key=lambda one: ((one.end_lineno or 0) - one.lineno, -one.col_offset), default=None)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the ancestors of a node, innermost first."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def loop(self, node: ast.AST) -> ast.For | ast.While | None:
        """Return the innermost loop around a node, within its function."""
        for one in self.around(node):
            if isinstance(one, ast.For | ast.While):
                return one
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return None
        return None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that one is in."""
        parent = self._parents.get(statement)
        return next((one for one in _blocks(parent) if statement in one), []) if parent is not None else []

    def following(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements behind one in its block."""
        body = self.block(statement)
        return body[body.index(statement) + 1 :] if body else []

    def function(self, node: ast.AST) -> ast.AST | None:
        """Return the innermost function around a node, the file if there is none."""
        return next(
            (one for one in self.around(node) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)), self.tree
        )

    def binds(self, node: ast.AST, name: str) -> bool:
        """Whether a statement inside a node assigns a variable."""
        return any(_is_variable(one, name, ast.Store) for one in ast.walk(node))

    def carries(self, loop: ast.For | ast.While, name: str) -> bool:
        """Whether a loop takes a variable as the turn before left it, before or in the statement that assigns it."""
        for statement in loop.body:
            if any(_is_variable(one, name, ast.Load) for one in ast.walk(statement)):
                return self.binds(loop, name)
            if self.binds(statement, name):
                return False
        return False

    def expressions(self, statement: ast.stmt) -> list[ast.expr]:
        """Return the expressions of a statement itself, not of those inside it, outermost first."""
        found: list[ast.expr] = []
        waiting = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, ast.stmt)]
        while waiting:
            node = waiting.pop(0)
            found += [node] if isinstance(node, ast.expr) else []
            waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)]
        return found

    def expression(self, line: int, chosen: Choice) -> ast.expr | None:
        """Return the outermost chosen expression of the statement at a line, first of those on the line itself."""
        statement = self.statement(line)
        found = [] if statement is None else [one for one in self.expressions(statement) if chosen(one)]
        return next((one for one in found if one.lineno <= line <= (one.end_lineno or 0)), next(iter(found), None))

    def text(self, node: ast.AST) -> str:
        """Return how the program writes a node."""
        return ast.get_source_segment("\n".join(self.lines) + "\n", node) or ""

    def indent(self, statement: ast.stmt) -> str:
        """Return the white space before a statement."""
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    # -- changing

    def replaced(self, node: ast.expr, text: str) -> Change:
        """Return the change that puts other text in the place of an expression."""
        first, last = node.lineno, node.end_lineno or node.lineno
        head = self.lines[first - 1].encode()[: node.col_offset].decode()
        tail = self.lines[last - 1].encode()[node.end_col_offset :].decode()
        return self._change(first, last, f"{head}{text}{tail}".split("\n"))

    def all_replaced(self, texts: Mapping[ast.AST, str]) -> tuple[Change, ...]:
        """Return the changes that replace the text of several nodes, none inside another."""
        spans = sorted(texts, key=_place, reverse=True)
        lines = [line.encode() for line in self.lines]
        rows: list[list[int]] = []  # first and last line of each change, from the end of the file
        for node in spans:
            (first, start), (last, end) = _place(node), _end(node)
            lines[first - 1 : last] = [lines[first - 1][:start] + texts[node].encode() + lines[last - 1][end:]]
            lines[first:first] = [b""] * (last - first)
            if rows and last >= rows[-1][0]:
                rows[-1][0] = first
            else:
                rows.append([first, last])
        return tuple(
            self._change(first, last, b"\n".join(filter(None, lines[first - 1 : last])).decode().split("\n"))
            for first, last in reversed(rows)
        )

    def rewritten(self, statement: ast.stmt, *lines: str) -> Change:
        """Return the change that replaces a statement by other lines with equal indentation."""
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        indent = self.indent(statement)
        return self._change(first, last, [f"{indent}{line}" for line in lines])

    def put_before(self, statement: ast.stmt, *lines: str) -> Change:
        """Return the change that adds lines before a statement."""
        indent = self.indent(statement)
        return Change(self.file, statement.lineno, (), tuple(f"{indent}{line}" for line in lines))

    def put_after(self, statement: ast.stmt, *lines: str) -> Change:
        """Return the change that adds lines behind a statement."""
        indent = self.indent(statement)
        return Change(
            self.file, (statement.end_lineno or statement.lineno) + 1, (), tuple(f"{indent}{line}" for line in lines)
        )

    def put_inside(self, block: ast.For | ast.While | ast.With, *lines: str) -> Change:
        """Return the change that adds lines at the beginning of a block."""
        return self.put_before(block.body[0], *lines)

    def taken_out(self, statement: ast.stmt) -> Change | None:
        """Return the change that leaves a statement out; None where its block would be empty without it."""
        body = self.block(statement)
        alone = self.lines[statement.lineno - 1].strip() == self.text(statement).split("\n", 1)[0]
        if len(body) < 2 or not (alone or "#" in self.lines[(statement.end_lineno or 1) - 1]):
            return None
        return self._change(statement.lineno, statement.end_lineno or statement.lineno, [])

    def line_out(self, decorator: ast.expr) -> Change:
        """Return the change that leaves a decorator out."""
        return self._change(decorator.lineno, decorator.end_lineno or decorator.lineno, [])

    def with_keyword(self, call: ast.Call, name: str, value: str) -> Change:
        """Return the change that adds a keyword to a call, or changes its value."""
        given = next((one for one in call.keywords if one.arg == name), None)
        if given is not None:
            return self.replaced(given.value, value)
        text = self.text(call)[:-1].rstrip()
        comma = "" if text.endswith(("(", ",")) else ","
        return self.replaced(call, f"{text}{comma} {name}={value})".replace("( ", "("))

    def indented_under(self, statement: ast.stmt, head: str) -> Change:
        """Return the change that puts a statement into a new block: ``with torch.no_grad():``."""
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        indent = self.indent(statement)
        inner = [f"    {line}" if line.strip() else line for line in self.lines[first - 1 : last]]
        return self._change(first, last, [f"{indent}{head}", *inner])

    def dedented(self, block: ast.With) -> Change:
        """Return the change that removes the head of a block and keeps its body."""
        first, last = block.lineno, block.end_lineno or block.lineno
        body = self.lines[block.body[0].lineno - 1 : last]
        depth = len(self.indent(block.body[0])) - len(self.indent(block))
        return self._change(first, last, [line[depth:] if line[:depth].isspace() else line for line in body])

    def _change(self, first: int, last: int, after: list[str]) -> Change:
        """Return the change of whole lines."""
        return Change(self.file, first, tuple(self.lines[first - 1 : last]), tuple(after))


def _place(node: ast.AST) -> tuple[int, int]:
    """Return line and column, in bytes, at which a node begins."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _is_variable(node: ast.AST, name: str, use: type[ast.expr_context]) -> bool:
    """Whether a node is a variable of this name, taken or assigned."""
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, use)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """Return the lists of statements that a node holds."""
    return [getattr(node, name) for name in ("body", "orelse", "finalbody") if isinstance(getattr(node, name, 0), list)]


def method(node: ast.expr, *names: str) -> ast.expr | None:
    """Return the receiver of a call of a method with one of these names, None for other expressions."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
        return node.func.value
    return None


def callee(node: ast.expr) -> str:
    """Return the last name of a called function: ``SGD`` for ``torch.optim.SGD(...)``, or ""."""
    return called(node) if isinstance(node, ast.Call) else ""
