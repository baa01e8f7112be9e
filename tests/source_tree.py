"""Reads the package's own source with `ast`: what imports what, how long things are, what is public.

The architecture tests ask their questions here; nothing is imported, so a module that fails to load is still judged.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "retrograd"
TORCH_NAMES = PACKAGE / "torch_names"
"""Whose folder is another root of the package: `retrograd.nn` is `retrograd/torch_names/retrograd/nn`."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Import(NamedTuple):
    """One imported module: where it stands, and whether only inside a function."""

    target: str
    line: int
    lazy: bool


@dataclass(frozen=True)
class Module:
    """One source file of the package."""

    name: str
    path: Path

    @property
    def where(self) -> str:
        """The file as one would type it from the project's root."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The source, parsed."""
        return parsed(self.path)

    @property
    def package(self) -> str:
        """The package that relative imports of this file start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        """Every statement, those inside others included: definitions and imports are among them."""
        return tuple(_statements_below(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Everything that is imported when the program runs; TYPE_CHECKING blocks do not count."""
        return tuple(_imports_below(self.tree.body, self.package, lazy=False))


def parsed(path: Path) -> ast.Module:
    """The syntax of a file; Python's collector, which would look through all trees for each, is kept off them."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.freeze()
        gc.enable()


def _statements_below(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement inside a node; expressions hold none, so that nobody looks into them."""
    todo: list[ast.AST] = [tree]
    while todo:
        found = _statements_of(todo.pop())
        yield from found
        todo += found


def _is_type_checking(node: ast.AST) -> bool:
    """Whether this is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imports_below(nodes: list[ast.stmt], package: str, *, lazy: bool) -> Iterator[Import]:
    """The imports of these statements and of all statements inside them."""
    for node in nodes:
        if _is_type_checking(node):
            assert isinstance(node, ast.If)
            yield from _imports_below(node.orelse, package, lazy=lazy)
            continue
        yield from _imports_of(node, package, lazy=lazy)
        inside = lazy or isinstance(node, FunctionNode)
        yield from _imports_below(_statements_of(node), package, lazy=inside)


def _statements_of(node: ast.AST) -> list[ast.stmt]:
    """The statements directly inside a statement, whatever its kind."""
    found: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            found.append(child)
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            found.extend(child.body)
    return found


def _imports_of(node: ast.stmt, package: str, *, lazy: bool) -> Iterator[Import]:
    """What one import statement names, in full."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, lazy)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            parent = ".".join(parts[: len(parts) - node.level + 1])
            base = f"{parent}.{base}" if base else parent
        for alias in node.names:
            yield Import(f"{base}.{alias.name}", node.lineno, lazy)


def load_modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {name: Module(name, path) for name, path in zip(map(module_name, paths), paths, strict=True)}


def module_name(path: Path) -> str:
    """The dotted name under which a file of the package is imported."""
    root = TORCH_NAMES if path.is_relative_to(TORCH_NAMES) else ROOT
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


MODULES = load_modules()


def own_target(target: str) -> str | None:
    """The module of ours that an import names: `retrograd.a.b.name` is `retrograd.a.b`; None for others."""
    if target.split(".")[0] != "retrograd":
        return None
    while target and target not in MODULES:
        target = target.rpartition(".")[0]
    return target or None


def functions(module: Module) -> Iterator[tuple[str, FunctionNode]]:
    """Every function and method of a file with its qualified name."""
    stack: list[tuple[str, ast.AST]] = [("", module.tree)]
    while stack:
        prefix, node = stack.pop()
        for child in _statements_of(node):
            inner = prefix
            if isinstance(child, FunctionNode | ast.ClassDef):
                inner = f"{prefix}.{child.name}" if prefix else child.name
            if isinstance(child, FunctionNode):
                yield inner, child
            stack.append((inner, child))


def body_lines(function: FunctionNode) -> int:
    """Length of a function's body without its docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    if not body:
        return 0
    last = body[-1].end_lineno or body[-1].lineno
    return last - body[0].lineno + 1
