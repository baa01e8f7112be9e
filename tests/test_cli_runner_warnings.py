"""Warnings of a traced program: they name what they name unwatched, also where it is no line of the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from side_by_side import ANEW, both

BEYOND = """\
import warnings

def helper(level):
    warnings.warn(f"from level {level}", stacklevel=level)

warnings.warn("here")
warnings.warn("beyond the module", stacklevel=2)
warnings.warn("far beyond it", stacklevel=7)
helper(2)
helper(3)
for _ in range(2):
    warnings.warn("told once", stacklevel=2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    helper(3)
print(caught[0].filename, caught[0].lineno)
warnings.filterwarnings("error")
try:
    helper(3)
except UserWarning as error:
    print(error)
"""
ANOMALY = """\
import {engine} as torch

def middle(values):
    return values.sqrt() * 0

torch.autograd.set_detect_anomaly(True)
values = torch.zeros(1, requires_grad=True)
loss = middle(values).sum()
print(loss.grad_fn.next_functions[0][0].metadata["traceback_"])
try:
    loss.backward()
except RuntimeError as error:
    print(error)
"""


def test_warnings_that_blame_nothing_of_the_program(tmp_path: Path) -> None:
    """A ``stacklevel`` beyond the program's module names what python names, not the command line that runs it."""
    (tmp_path / "warns.py").write_text(BEYOND)
    alone, traced = both("warns.py", cwd=tmp_path, entry=ANEW)

    assert traced == alone
    assert "beyond the module" in alone.err


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_anomaly_mode_shows_the_stack_of_the_program(tmp_path: Path, engine: str) -> None:
    """Neither the command line nor what watches stands in the stack that a node keeps, and that the warning shows."""
    pytest.importorskip(engine)
    (tmp_path / "fails.py").write_text(ANOMALY.format(engine=engine))
    alone, traced = both("fails.py", cwd=tmp_path, engine=engine == "retrograd")

    assert (traced.code, traced.out) == (alone.code, alone.out)
    assert traced.err.startswith(alone.err)  # the tree follows
    assert alone.out.count("in middle") == 1
    assert "Traceback of forward call" in alone.err
