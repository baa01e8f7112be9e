"""Warnings of a watched PyTorch program blame the same lines, equally often, as when nobody watches."""

from __future__ import annotations

import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

from retrograd.inspect.process.recorder import recording

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


WARNER = """
import torch
import torch.nn.functional as F
net = torch.nn.Linear(3, 1)
net.register_full_backward_hook(lambda *given: None)
x = torch.ones(2, 3, requires_grad=True)
for _ in range(3):
    try:
        F.mse_loss(x, torch.ones(3)).backward()
        F.softmax(x)
        net(torch.ones(2, 3)).sum().backward()
        torch.tensor(x)
        (x * 2).grad
    except UserWarning as raised:
        shown.append(str(raised))
"""


@pytest.mark.parametrize("module", ["warner", "other"])
@pytest.mark.parametrize("action", ["error", "ignore", "once", "module", "default", "always"])
def test_filters_of_the_program(action: str, module: str) -> None:
    """Filters decide by the module of the line that is to blame without us: they raise, ignore, count as for it."""

    def given(level: str | None) -> tuple[list[str], list[tuple[str, int, str]]]:
        code, shown = compile(WARNER, "warner.py", "exec"), list[str]()
        with warnings.catch_warnings(record=True) as seen, recording(level=level) if level else nullcontext():
            warnings.simplefilter("default")
            warnings.filterwarnings(action, category=UserWarning, module=module)
            exec(code, {"__name__": "warner", "shown": shown})
        return shown, [(Path(one.filename).name, one.lineno, str(one.message)[:40]) for one in seen]

    plain = given(None)
    assert sum(map(len, plain)) > 0 or action == "ignore"
    assert given("graph") == plain
    assert given("full") == plain
