"""The same program in other words: other spellings of its operators, other names, no comments, all in ``main()``.

Line numbers stay as they are, and so does everything that the program computes.  Nothing that a diagnosis says of a
program may depend on any of this.
"""

from __future__ import annotations

import ast
import contextlib
import io
import keyword
import operator
import re
import tokenize
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import retrograd

_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("true_divide", operator.truediv),
    ast.MatMult: ("matmul", operator.matmul),
}
"""Operator -> a function of PyTorch of another name that does the same, and what Python does."""
_LASTING = (ast.Add, ast.Sub)
"""Operators that may write over what they take: neither they nor what made it needs its values in backward."""
_UNSAVED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)
"""Operators that do not save their result."""
_OTHER_ORDER = ("where",)
"""Functions whose methods take their operands otherwise."""


def in_other_words(text: str, *, runs_on_ours: bool = True) -> str:
    """Return a program with all that ``functional``, ``renamed``, ``wordless`` and ``in_main`` do.

    ``functional`` leaves one alone that our engine cannot run.
    """
    return in_main(wordless(renamed(functional(text) if runs_on_ours else text)))


# -- operators as functions


def functional(text: str) -> str:
    """Return a program with functions for operators and methods, ``torch.subtract(a, b)``, and methods for functions.

    Operators become, in turn, functions with keywords, functions of the program's own, and writes over what is used
    nowhere else.  Which operands are tensors is seen by running the program once on our engine, if it can run it.
    """
    tree = ast.parse(text)
    sites = [node for node in ast.walk(tree) if _is_site(node)]
    seen, grown = _tensor_sites(text.replace("import torch\n", "import retrograd as torch\n"), len(sites))
    chosen = {site: number for number, site in enumerate(sites) if seen.get(number) and site.lineno == site.end_lineno}
    chosen |= {site: -1 - number for site, number in chosen.items() if _overwrites(site, chosen, grown)}
    return _replaced(text, [(site, _as_function(text, site, chosen)) for site in _outermost(tree, chosen)])


def _overwrites(site: Any, chosen: dict[Any, int], grown: set[int]) -> bool:
    """Whether an operator may write over its first operand: a result that fits, and that nothing else has."""
    if not isinstance(site, ast.BinOp) or not isinstance(site.op, _LASTING) or chosen[site] in grown:
        return False
    left = site.left
    return left in chosen and isinstance(left, ast.BinOp) and isinstance(left.op, _UNSAVED)


def _is_site(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) in _OPERATORS
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _starred(node)


def _starred(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)


@cache
def _functions() -> frozenset[str]:
    """The functions of our engine by name; an attribute that it lacks would be searched for each time."""
    return frozenset(name for name in dir(retrograd) if callable(getattr(retrograd, name, None)))


def _tensor_sites(text: str, count: int) -> tuple[dict[int, bool], set[int]]:
    """Number of a site -> whether its operands were tensors each time; the program is run for that, unrecorded.

    Also those whose results are larger, or of another dtype, than the first operand.
    """
    seen: dict[int, bool] = {}
    grown: set[int] = set()
    engine: Any = retrograd
    tensor = engine.Tensor

    def note(number: int, *given: object, function: str = "") -> None:
        fits = all(isinstance(one, tensor) for one in given) and bool(given)
        seen[number] = seen.get(number, True) and fits and (not function or function in _functions())

    def operate(number: int, name: str, left: Any, right: Any) -> Any:
        note(number, left, right)
        made = next(run for other, run in _OPERATORS.values() if other == name)(left, right)
        if isinstance(left, tensor) and (left.shape, left.dtype) != (made.shape, made.dtype):
            grown.add(number)
        return made

    def call(number: int, owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        if owner is engine:
            first = args[0] if args and name not in _OTHER_ORDER else None
            method = isinstance(first, tensor) and callable(getattr(tensor, name, None))
            seen[number] = seen.get(number, True) and method
            return getattr(owner, name)(*args, **kwargs)
        plain = not name.endswith("_") and all(isinstance(one, tensor) for one in args)  # sizes go as a tuple there
        note(number, owner, function=name if plain else "no such function")
        return getattr(owner, name)(*args, **kwargs)

    tree = _Instrumented(ast.parse(text)).tree
    program = types.ModuleType("__main__")
    program.__dict__.update(_operate=operate, _call=call)
    with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, "<instrumented>", "exec"), program.__dict__)
    np.random.seed(0)
    assert len(seen) <= count
    return seen, grown


class _Instrumented(ast.NodeTransformer):
    """A program in which each site is a call that notes its operands."""

    def __init__(self, tree: ast.Module) -> None:
        self._numbers = {site: number for number, site in enumerate(node for node in ast.walk(tree) if _is_site(node))}
        self.tree = ast.fix_missing_locations(self.visit(tree))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        number = self._numbers.get(node)
        self.generic_visit(node)
        if number is None:
            return node
        name = _OPERATORS[type(node.op)][0]
        return _calling("_operate", [ast.Constant(number), ast.Constant(name), node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        number = self._numbers.get(node)
        self.generic_visit(node)
        if number is None or not isinstance(node.func, ast.Attribute) or _is_super(node.func.value):
            return node
        given = [ast.Constant(number), node.func.value, ast.Constant(node.func.attr), *node.args]
        return _calling("_call", given, node.keywords)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _calling(name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), args, keywords)


def _outermost(tree: ast.AST, chosen: dict[Any, int]) -> Iterator[Any]:
    """Yield the chosen nodes that are inside no other one."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if node in chosen:
            yield node
        else:
            waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.JoinedStr)]


def _as_function(text: str, site: Any, chosen: dict[Any, int]) -> str:
    """Return how a site reads as a call of a function, sites inside it, too."""

    def read(node: ast.expr) -> str:
        if node in chosen:
            return _as_function(text, node, chosen)
        segment = ast.get_source_segment(text, node) or ""
        found = [(one, _as_function(text, one, chosen)) for one in _outermost(node, chosen)]
        shifted = [(one.lineno - node.lineno, one.col_offset, one, new) for one, new in found]
        for _line, column, one, new in sorted(shifted, key=lambda entry: entry[:2], reverse=True):
            start = column - node.col_offset
            segment = segment[:start] + new + segment[start + (one.end_col_offset - one.col_offset) :]
        return segment

    if isinstance(site, ast.BinOp):
        name, left, right = _OPERATORS[type(site.op)][0], read(site.left), read(site.right)
        if chosen[site] < 0:
            return f"({left}).{name}_({right})"
        forms = f"{name}({left}, {right})", f"{name}(input={left}, other={right})", f"{name}(q7, q8))({left}, {right})"
        return ("torch.", "torch.", "(lambda q7, q8: torch.")[chosen[site] % 3] + forms[chosen[site] % 3]
    if isinstance(site.func.value, ast.Name) and site.func.value.id == "torch":
        first, *rest = [*map(read, site.args), *(f"{one.arg}={read(one.value)}" for one in site.keywords)]
        return f"({first}).{site.func.attr}({', '.join(rest)})"
    given = [read(site.func.value), *map(read, site.args), *(f"{one.arg}={read(one.value)}" for one in site.keywords)]
    return f"torch.{site.func.attr}({', '.join(given)})"


def _replaced(text: str, replacements: list[tuple[Any, str]]) -> str:
    """Return a text with nodes, each on one line, replaced."""
    lines = text.splitlines()
    for node, new in sorted(replacements, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()
    return "\n".join(lines) + "\n"


# -- names


def renamed(text: str) -> str:
    """Return a program with other names for its variables, arguments and functions."""
    tree = ast.parse(text)
    names = {name: f"v{number}" for number, name in enumerate(sorted(_own_names(tree)))}
    lines = text.splitlines()
    for line, column, name in sorted(_tokens_of(tree, text), reverse=True):
        if name in names:
            raw = lines[line - 1].encode()
            assert raw[column : column + len(name)].decode() == name, (line, column, name)
            lines[line - 1] = (raw[:column] + names[name].encode() + raw[column + len(name) :]).decode()
    return "\n".join(lines) + "\n"


def _own_names(tree: ast.Module) -> set[str]:
    """Names that the program gives and that nothing but its code knows."""
    given, kept = set[str](), {"self", "cls", "ctx", "torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            given.add(node.name)
        elif isinstance(node, ast.arg):
            given.add(node.arg)
        elif isinstance(node, ast.keyword) and node.arg:
            kept.add(node.arg)
        elif isinstance(node, ast.alias):
            kept.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            kept.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            kept |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            kept |= set(node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            kept.add(node.name)
        elif isinstance(node, ast.ClassDef):
            kept |= {node.name} | {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            kept |= {
                n.id for one in node.body if isinstance(one, ast.Assign) for n in one.targets if isinstance(n, ast.Name)
            }
    return {name for name in given - kept if not keyword.iskeyword(name) and not name.startswith("__")}


def _tokens_of(tree: ast.Module, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and name of every place that names something of the program's own."""
    lines = text.splitlines()
    inside = {one for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if node in inside:
            continue
        if isinstance(node, ast.Name):
            yield node.lineno, node.col_offset, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.col_offset, node.arg
        elif isinstance(node, ast.FunctionDef):
            found = re.search(rf"def\s+({node.name})\b", lines[node.lineno - 1])
            if found:
                yield node.lineno, len(lines[node.lineno - 1][: found.start(1)].encode()), node.name


# -- words


def wordless(text: str) -> str:
    """Return a program without comments and docstrings, and with other words in what it prints."""
    tree = ast.parse(text)
    words = [
        (one, '"..."')
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        for one in node.args
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.lineno == one.end_lineno
    ]
    documented = (ast.FunctionDef, ast.ClassDef, ast.Module)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented) and node.body]
    heads = [body[0].value for body in bodies if isinstance(body[0], ast.Expr)]
    words += [(one, "0") for one in heads if isinstance(one, ast.Constant) and one.lineno == one.end_lineno]
    lines = _replaced(text, words).splitlines()
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip()
    return "\n".join(lines) + "\n"


def in_main(text: str) -> str:
    """Return a program whose statements stand in a function that its last line calls; its first line is a comment."""
    lines = text.splitlines()
    assert not lines[0].strip() or lines[0].startswith("#")
    if "global " in text or "globals()" in text or '"""' in text or "from __future__" in text:
        return text
    return "\n".join(["def main():", *(f"    {line}" if line.strip() else line for line in lines[1:]), "main()"]) + "\n"
