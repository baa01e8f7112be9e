"""Help, findings, errors and documents use the words of CONTRIBUTING.md's glossary, not those that it replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click
import pytest
from source_tree import MODULES, ROOT

from retrograd.cli.group import cli

REFUSED = re.compile(
    r"""(?<!when\ )(?<!as\ )\bbackward\ runs?\b(?!\ for)
    | \bis\ no\ leaf\b | \bare\ no\ leaves\b | \bis\ no\ (?:tensor|trace|JSON)\b | \bis\ none\ of\ a\ format
    | \bthe\ chain\ from\b | \bthe\ way\ (?:gradients|values)\b | \bway\ (?:from|to)\ the\ loss\b
    | \bwhat\ to\ write\ instead\b | \bmend(?:s|ed)?\b | \bremedy:\ | \bfigures\ of\b | \bof\ figures\b
    | \bpart\ (?:at|on\ the\ ranks)\b | \bis\ not\ told\b | \bare\ told\ of\b | \bin\ no\ group\ of\b""",
    re.VERBOSE,
)
REFUSED_IN_DOCSTRINGS = re.compile(
    r"""\btold\b | \bunheard\b | \bheard\ of\b | \bin\ earnest\b | \bjust\ now\b | \bno\ leaf\b
    | \b(?:is|are)\ no\ (?:leaf|leaves|tensor|number|operator|parameter|container|integer|matrix|module|scalar)s?\b
    | \bgoes\ on\ (?:its|the)\ way\b | \bstands?\ (?:in\ for|for\ all)\b | \bbackward\ runs?\b(?!\ through)""",
    re.VERBOSE | re.IGNORECASE,
)
REFUSED_NAMES = re.compile(r"(?<![A-Za-z])(?:[Tt]old|[Tt]ells|deaf|unheard|[Nn]est|_*[Ll]ifeline)(?![a-z])")
"""Words of names where a noun says what the thing is."""
PAGES = ("README", "docs/index", "docs/tutorial", "docs/usage", "docs/diagnosis", "docs/review", "docs/agents",
         "docs/comparison", "docs/watching", "docs/distributed")  # fmt: skip
SPOKEN = ("retrograd.inspect", "retrograd.cli", "retrograd.pytest_plugin", "retrograd.distributed")
"""Packages whose strings users read; the engine's messages are PyTorch's."""


def refused(text: str) -> list[str]:
    """The refused words of a text."""
    return [found[0] for found in REFUSED.finditer(text)]


@pytest.mark.parametrize("page", PAGES)
def test_documents_use_the_glossary(page: str) -> None:
    """What users read first."""
    assert refused((ROOT / f"{page}.md").read_text(encoding="utf-8")) == []


def test_help_uses_the_glossary() -> None:
    """The help of each command and option."""
    context = click.Context(cli)
    texts = [
        command.get_help(click.Context(command))
        for name in cli.list_commands(context)
        if (command := cli.get_command(context, name)) is not None
    ]

    assert [word for text in texts for word in refused(" ".join(text.split()))] == []


def test_messages_use_the_glossary() -> None:
    """Strings of findings, reports, errors and reasons, docstrings apart."""
    found = []
    for module in MODULES.values():
        if not module.name.startswith(SPOKEN):
            continue
        statements = [node.value for node in ast.walk(module.tree) if isinstance(node, ast.Expr)]
        silent = {id(value) for value in statements if isinstance(value, ast.Constant)}
        found += [
            f"{module.where}:{node.lineno} {word}"
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent
            for word in refused(node.value)
        ]

    assert found == []


def test_glossary_has_forty_words() -> None:
    """Each row of the table says what a word means."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| word |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1:4] for row in table.splitlines()[2:]]

    assert len(rows) >= 40
    assert all(word.strip() and meaning.strip() for word, meaning, _ in rows)


def test_docstrings_and_names_use_the_glossary() -> None:
    """Docstrings of functions, classes, modules and variables, and the names of all of these."""
    found = set()
    for module in MODULES.values():
        text = " ".join(module.text.split())
        if REFUSED_IN_DOCSTRINGS.search(text) or REFUSED_NAMES.search(text):
            found |= {f"{module.where}:{line} {words}" for line, words in _refused_in(module.tree)}

    assert found == set()


def _refused_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and words of refused docstrings and names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for words in REFUSED_IN_DOCSTRINGS.findall(" ".join(node.value.value.split())):
                yield node.lineno, words
        elif isinstance(node, (ast.Name, ast.arg, ast.Attribute, ast.FunctionDef, ast.ClassDef)):
            names = (getattr(node, field, "") for field in ("id", "arg", "attr", "name"))
            for name in names:
                if REFUSED_NAMES.search(name):
                    yield node.lineno, name
