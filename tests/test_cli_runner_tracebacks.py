"""A program on our engine that fails prints the same traceback, the engine's own lines included, when it is traced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAILING = {
    "shapes": "rg.ones(2, 3) + rg.ones(2, 4)",
    "leaf": "rg.ones(3, requires_grad=True).add_(1)",
    "overwritten": "y = x.exp()\ny.add_(1)\ny.sum().backward()",
    "hook": "y = x * 2\ny.register_hook(lambda g: 1 / 0)\ny.sum().backward()",
}


def _stderr(*command: str) -> list[str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return [line for line in done.stderr.splitlines() if not line.startswith("retrograd: ")]


@pytest.mark.parametrize("name", FAILING)
def test_traceback_is_that_of_the_plain_run(name: str, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(f"import retrograd as rg\nx = rg.ones(3, requires_grad=True)\n{FAILING[name]}\n")
    traced = _stderr("-m", "retrograd", "trace", str(script), "-o", str(tmp_path / "graph.json"))
    assert traced == _stderr(str(script))
