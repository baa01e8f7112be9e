"""Tests that need PyTorch skip themselves without it: the whole suite runs where PyTorch is not installed, too.

Read from the source, so that this is noticed on machines that have PyTorch.  A test needs it where it imports it, or
takes both engines' names from a list; ``importorskip`` answers for it, in the test or in what it uses of its file.
"""

from __future__ import annotations

import ast
import re
import textwrap

import pytest
from source_tree import ROOT, FunctionNode, parsed

GUARD = "importorskip"
ENGINES = {"retrograd", "torch"}
SKIPPED = re.compile(r"^torch = pytest\.importorskip\(\"torch\"\)", re.MULTILINE)
"""At the head of a file: without PyTorch all of it is skipped."""


def names_of(node: ast.AST) -> set[str]:
    """Every name that is read or asked for, parameters (which are fixtures in tests) included."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.arg):
            found.add(one.arg)
    return found


def imports_torch(node: ast.AST) -> bool:
    """Whether a node is an import of PyTorch."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == "torch"
    return isinstance(node, ast.Import) and any(one.name.partition(".")[0] == "torch" for one in node.names)


def lists_engines(node: ast.AST) -> bool:
    """Whether a node is a list that names PyTorch beside our engine."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        return False
    return {entry.value for entry in node.elts if isinstance(entry, ast.Constant)} >= ENGINES


def needs_torch(node: ast.AST) -> bool:
    """Whether something inside imports PyTorch or names both engines."""
    return any(imports_torch(one) or lists_engines(one) for one in ast.walk(node))


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """What a file defines at its head, by name: functions, classes, constants."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (FunctionNode, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def reached(name: str, used: dict[str, set[str]]) -> set[str]:
    """The definitions of a file that one of them uses, itself included."""
    found, todo = {name}, [name]
    while todo:
        new = (used[todo.pop()] & used.keys()) - found
        found |= new
        todo += new
    return found


def unguarded(tree: ast.Module) -> list[str]:
    """The tests of a file that would fail without PyTorch, by name."""
    known = definitions(tree)
    needing = {name for name, node in known.items() if needs_torch(node)}
    if not needing:
        return []
    used = {name: names_of(node) for name, node in known.items()}
    uses = {name: reached(name, used) for name in known if name.startswith("test")}
    return [name for name, own in uses.items() if own & needing and not any(GUARD in used[one] for one in own)]


def imported_at_the_head(tree: ast.Module) -> list[str]:
    """Imports of PyTorch that end the whole run of the tests where it is not."""
    return [ast.unparse(node) for node in tree.body if imports_torch(node)]


def test_tests_that_need_pytorch_skip_themselves_without_it() -> None:
    """No test imports PyTorch, or goes through both engines, without asking first whether it is there."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").glob("*.py"))}
    trees = {path.name: parsed(path) for path, text in texts.items() if "torch" in text and not SKIPPED.search(text)}

    assert len(trees) > 50
    assert [f"{name}: {found}" for name, tree in trees.items() for found in imported_at_the_head(tree)] == []
    assert [f"{name}: {found}" for name, tree in trees.items() for found in unguarded(tree)] == []


@pytest.mark.parametrize(
    "test",
    [
        """
        @pytest.mark.parametrize("package", ["retrograd", "torch"])
        def test_it(package): run(f"import {package} as torch")
        """,
        """
        def test_it(tmp_path):
            for engine in ("retrograd", "torch"):
                record(PROGRAM, tmp_path, engine=engine)
        """,
        """
        def test_it():
            import torch
        """,
        """
        EACH = ["retrograd", "torch"]
        @pytest.fixture(params=EACH)
        def engine(request): return request.param
        def test_it(engine): record(PROGRAM, engine)
        """,
    ],
)
def test_a_forgotten_skip_is_found(test: str) -> None:
    """The search finds the forms in which it was forgotten, and nothing once the test asks."""
    text = textwrap.dedent(test)
    body = f"def record(*given): pytest.{GUARD}(given[-1])\ndef run(code): pytest.{GUARD}('torch')\n"
    asked = text.replace("import torch\n", f"pytest.{GUARD}('torch')\n    import torch\n")

    assert unguarded(ast.parse(text)) == ["test_it"]
    assert unguarded(ast.parse(body + asked)) == []
