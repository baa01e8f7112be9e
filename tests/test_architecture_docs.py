"""Documentation is kept: every public name says what it is for, and the user's names appear in the docs."""

from __future__ import annotations

import ast
import re

import pytest
from source_tree import MODULES, ROOT, Module

import retrograd

DOCS = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def public_definitions(module: Module) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Top-level functions and classes without a leading underscore, and the methods of those classes."""
    found: list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in module.tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        found.append(node)
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            found.extend(item for item in methods if not item.name.startswith("_"))
    return found


def needs_no_docstring(node: ast.AST) -> bool:
    """Overloads and setters are documented where the plain function or the getter is."""
    decorators = [ast.unparse(item) for item in getattr(node, "decorator_list", [])]
    return any(item.endswith(("overload", ".setter", ".deleter")) for item in decorators)


@pytest.mark.parametrize("name", MODULES)
def test_public_definitions_have_docstrings(name: str) -> None:
    """Every module and every public function, class and method says what it is for."""
    module = MODULES[name]
    bare = [
        f"{module.where}:{node.lineno} {node.name}"
        for node in public_definitions(module)
        if not needs_no_docstring(node) and not ast.get_docstring(node)
    ]

    assert ast.get_docstring(module.tree) or not module.text.strip(), f"{module.where} has no docstring"
    assert bare == []


def words(text: str) -> set[str]:
    """Every identifier in a text."""
    return set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))


def test_public_names_are_in_the_docs() -> None:
    """Every name that `import retrograd` offers is mentioned in README or docs."""
    offered = [name for name in retrograd.__all__ if not name.startswith("_")]

    assert sorted(set(offered) - words(DOCS)) == []


def test_every_room_is_in_the_architecture_document() -> None:
    """docs/architecture.md names every package of the source tree."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {module.package.replace("retrograd.", "").replace(".", "/") for module in MODULES.values()}

    assert sorted(package for package in packages if f"{package}/" not in text) == []


def test_links_in_the_docs_lead_somewhere() -> None:
    """Relative links and pictures in the Markdown files point at files that exist."""
    broken = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            if not target.startswith(("http:", "https:", "mailto:")) and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)} → {target}")

    assert broken == []
