"""Writes the examples of generated source in docs/generated_code.md from the generators themselves."""

from __future__ import annotations

import re
from pathlib import Path

import retrograd as rg
from retrograd.engine.core.registry import OPS
from retrograd.engine.generated.fast_path_source import CallSource
from retrograd.engine.generated.row_node import result_slots
from retrograd.engine.generated.row_node_source import NodeClassSource

PAGE = Path(__file__).parent / "generated_code.md"
ROW = "sigmoid"


def examples() -> dict[str, list[str]]:
    """Return what is generated for the example row, by the name that its block has on the page."""
    rg.zeros(1)  # the engine attaches its operators on first use
    op = OPS[ROW]
    node = NodeClassSource(op, {}, result_slots(op), inlined=True)
    return {"call": CallSource(op, {}, "operator").lines(), "node": node.lines()}


def page(text: str) -> str:
    """Return the page with its examples as they are generated today."""
    for name, lines in examples().items():
        block = f"<!-- generated: {name} -->\n```py\n" + "\n".join(lines) + "\n```\n"
        text = re.sub(rf"<!-- generated: {name} -->\n```py\n.*?^```\n", lambda _: block, text, flags=re.DOTALL | re.M)  # noqa: B023
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
