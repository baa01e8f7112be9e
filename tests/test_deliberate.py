"""A backward that is meant not to be the derivative is said to be so by its author, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect.diagnose import diagnose

PROGRAM = """import torch
import retrograd as rg
@rg.deliberate
class Halved(torch.autograd.Function):  # retrograd: deliberate
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
    @staticmethod
    def backward(ctx, g):  # retrograd: deliberate
        (x,) = ctx.saved_tensors
        return g * x * x
x = torch.ones(3, requires_grad=True)
Halved.apply(x).sum().backward()
"""
MARKS = {
    "decorator": "@rg.deliberate\n",
    "comment at class": "class Halved(torch.autograd.Function):  # retrograd: deliberate",
    "comment at backward": "def backward(ctx, g):  # retrograd: deliberate",
}


def _with(mark: str) -> str:
    """Return the program with one of its marks, or with none."""
    text = PROGRAM
    for other in MARKS.values():
        if other != mark:
            text = text.replace(other, other.split("  #")[0] if "#" in other else "")
    return text


@pytest.mark.parametrize("mark", MARKS)
def test_marked_function_has_no_finding(mark: str, tmp_path: Path) -> None:
    """Each way to say it is enough by itself."""
    pytest.importorskip("torch")
    assert [one.message for one in diagnose(record(_with(MARKS[mark]), tmp_path))] == []


def test_unmarked_function_is_told(tmp_path: Path) -> None:
    """The same program without a mark has a wrong backward."""
    pytest.importorskip("torch")
    assert [one.kind for one in diagnose(record(_with(""), tmp_path))] == ["wrong-backward"]
