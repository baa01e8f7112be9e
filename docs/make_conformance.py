"""Writes docs/conformance.md: every row of the specification with the tests that name it.

``python docs/make_conformance.py`` rewrites the page; ``tests/test_conformance.py`` fails when it is out of date or
when a must-have row has no test.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
ROW = re.compile(r"\b([GFCVE])[-_](\d\d)\b")


class Row(NamedTuple):
    """One row of the specification."""

    id: str
    verdict: str
    feature: str


def rows() -> list[Row]:
    """All rows, in the order of the specification."""
    lines = (ROOT / "tests" / "spec_rows.tsv").read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines]


def tests_by_row() -> dict[str, list[str]]:
    """Row id -> ``file::test`` of every test whose name or docstring names it."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                for letter, number in ROW.findall(f"{node.name.replace('_', ' _')} {ast.get_docstring(node) or ''}"):
                    found.setdefault(f"{letter}-{number}", []).append(f"{path.name}::{node.name}")
                for letter, number in re.findall(r"(?:^|_)([GFCVE])_(\d\d)(?=_|$)", node.name):
                    found.setdefault(f"{letter}-{number}", []).append(f"{path.name}::{node.name}")
    return {row: list(dict.fromkeys(tests)) for row, tests in found.items()}


def status(row: Row, tests: list[str]) -> str:
    """What is known about a row."""
    if tests:
        return "tested"
    return "out of scope" if row.verdict == "out of scope" else "**no test**"


def page() -> str:
    """The text of the page."""
    named = tests_by_row()
    table = [(row, named.get(row.id, [])) for row in rows()]
    covered = sum(bool(tests) for _, tests in table)
    lines = [
        "# Conformance",
        "",
        "Made by `python docs/make_conformance.py` from the tests; do not edit.",
        "",
        f"{covered} of {len(table)} rows of the specification are named by at least one test.",
        "",
        "| row | feature | verdict | status | tests |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row, tests in table:
        shown = "<br>".join(f"`{t}`" for t in tests[:3]) + (f"<br>and {len(tests) - 3} more" if len(tests) > 3 else "")
        lines.append(f"| {row.id} | {row.feature} | {row.verdict} | {status(row, tests)} | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
