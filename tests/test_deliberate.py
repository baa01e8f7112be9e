"""A backward that is meant not to be the derivative is said to be so by its author, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import Dropped, diagnose

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


CHOSEN = """
import torch
net = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(12)))
for name, p in net.named_parameters():
    if name.startswith("1"):
        p.requires_grad = False{comment}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(6, 4)).square().mean().backward()
    opt.step()
"""


def test_marked_line_has_no_finding(tmp_path: Path) -> None:
    """What may be meant is told of a line unless its author says so; with ``--explain`` it is seen all the same."""
    pytest.importorskip("torch")
    dropped: list[Dropped] = []

    told = diagnose(record(CHOSEN.format(comment=""), tmp_path))
    silent = diagnose(record(CHOSEN.format(comment="  # retrograd: deliberate"), tmp_path), dropped=dropped)

    assert [(one.kind, one.line, one.severity) for one in told] == [("frozen-parameter", 6, "note")]
    assert silent == []
    assert [(one.finding.line, one.reason) for one in dropped] == [(6, "its line says that it is deliberate")]


def test_unmarked_function_is_told(tmp_path: Path) -> None:
    """The same program without a mark has a wrong backward."""
    pytest.importorskip("torch")
    assert [one.kind for one in diagnose(record(_with(""), tmp_path))] == ["wrong-backward"]
