"""A program on our engine that fails prints the same traceback, the engine's own lines included, when it is traced."""

from __future__ import annotations

import glob
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from retrograd.cli import uncaught
from retrograd.inspect.sources.engine_.calls import caller

FAILING = (
    "rg.ones(2, 3) + rg.ones(2, 4)",
    "rg.ones(3, requires_grad=True).add_(1)",
    "y = x.exp()\ny.add_(1)\ny.sum().backward()",
    "y = x * 2\ny.register_hook(lambda g: 1 / 0)\ny.sum().backward()",
)
FORKED = "if os.fork() == 0:\n{}\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\n"
"""What fails does so in a child, so that one process loads the engine for all of them."""


def _stderr(*command: str) -> list[str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n" * len(FAILING)
    return [line for line in done.stderr.splitlines() if not line.startswith("retrograd: ")]


def test_tracebacks_are_those_of_the_plain_run(tmp_path: Path) -> None:
    """Mismatched shapes, a write to a leaf, an overwritten value, a hook that fails."""
    script = tmp_path / "fails.py"
    head = "import os\nimport retrograd as rg\nx = rg.ones(3, requires_grad=True)\n"
    script.write_text(head + "".join(FORKED.format(indent(text, "    ")) for text in FAILING))
    alone = _stderr("-u", str(script))
    traced = _stderr("-u", "-m", "retrograd", "trace", str(script), "-o", str(tmp_path / "graph.json"))

    assert alone.count("Traceback (most recent call last):") == len(FAILING)
    assert traced == alone


@pytest.mark.parametrize("files", [uncaught._WATCHERS, caller._COMPOSING], ids=["watchers", "composing"])
def test_files_that_are_known_by_name_are_there(files: tuple[str, ...]) -> None:
    """What is left out of tracebacks, or named as a call of the user's, is found where its name begins so."""
    assert [start for start in files if not glob.glob(start + "*")] == []
