"""Warnings of a watched PyTorch program blame the same lines, equally often, as when nobody watches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys, warnings
import torch, torch.nn.functional as F
x = torch.ones(2, 3, requires_grad=True)
def penalty():
    F.mse_loss(x, torch.ones(3)).backward()
def again():
    F.softmax(x); torch.nn.Softmax()(x)
    (x * 2).grad
    (x * 3).grad
    torch.tensor(x)
for _ in range(2):
    penalty()
    again()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    again()
print([(one.filename, one.lineno) for one in seen])
warnings.simplefilter("always")
again()
again()
"""


def test_the_same_warnings(tmp_path: Path) -> None:
    """Standard error of a program that warns, with its files, lines and repetitions, is that of python alone."""
    script = tmp_path / "warns.py"
    script.write_text(PROGRAM)
    alone = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    command = [sys.executable, "-m", "retrograd", "trace", "-q", "-o", tmp_path / "x.json", script]
    watched = subprocess.run(command, capture_output=True, text=True, check=True)

    assert alone.stderr.count("UserWarning") > 10
    assert watched.stdout == alone.stdout
    assert watched.stderr == alone.stderr
