"""Packages that a program calls: events stand at the program's own line and say inside which package they happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd
from retrograd.inspect import load
from retrograd.inspect.diagnosis import diagnose

LAYER = """
import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(3, 2)
        self.spare = torch.nn.Linear(3, 2)

    def forward(self, x):
        inner = self.used(x)
        return Rounded.apply(inner)


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(3, 3)
        self.spare = torch.nn.Sequential(
            torch.nn.Linear(3, 3),
            torch.nn.Linear(3, 3),
        )

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.again, x, use_reentrant=False)

    def again(self, x):
        return self.used(x).tanh()


class Quiet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(3, 3)

    def forward(self, x):
        with torch.set_grad_enabled(x.requires_grad):
            return self.used(x)
"""
PROGRAM = """
import torch
from boxed.layer import Layer

torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Layer()
        self.head = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.block(x))

model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(4, 3)).square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

DEEP = """
import torch
import torch.utils.checkpoint
from boxed.layer import Deep

torch.manual_seed(0)
model = Deep()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(4, 3)).square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.fixture(scope="module", params=["retrograd", "torch"])
def recorded(request, tmp_path_factory):
    """The recording of a program that calls an installed package, and the program's file."""
    pytest.importorskip(request.param)
    folder = tmp_path_factory.mktemp("library")
    package = folder / "lib" / "site-packages" / "boxed"
    package.mkdir(parents=True)
    spelled = "import torch\n" if request.param == "torch" else "import retrograd as torch\n"
    (package / "__init__.py").touch()
    (package / "layer.py").write_text(LAYER.replace("import torch\n", spelled))
    program = folder / "train.py"
    program.write_text(PROGRAM.replace("import torch\n", spelled))
    _trace(package.parent, folder / "run.json", str(program))
    return load(folder / "run.json"), program, package.parent


def _trace(site: Path, out: Path, *program: str) -> None:
    above = str(Path(retrograd.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), above]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "retrograd", "trace", "--level", "full", "-o", str(out), *program]
    subprocess.run(command, check=True, capture_output=True, env=env, cwd=site)


def _line_of(program: Path, text: str) -> int:
    return next(number for number, line in enumerate(program.read_text().splitlines(), 1) if text in line)


def test_events_stand_at_the_users_line(recorded):
    """Every event of a package's code has the program's line that called it, and the package's file and line beside."""
    recording, program, _ = recorded
    events = [event for event in recording.events if event.source is not None]
    assert {Path(event.source.file) for event in events} == {program}
    inside = {
        event.source.inside: event.source.line for event in events if event.source.inside and event.op == "linear"
    }
    assert inside == {f"boxed (layer.py:{_lines_of(LAYER, 'inner =')})": _line_of(program, "self.head(self.block(x))")}


def _lines_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_packages_functions_are_not_judged(recorded):
    """A rounding with a gradient of its own is the package's business; parameters it leaves idle are a note."""
    recording, _, _ = recorded
    assert not any(event.data.get("action") == "checked" for event in recording.events if event.kind == "function")
    found = [(finding.kind, finding.severity) for finding in diagnose(recording)]
    assert found == [("unused-parameter", "note")]
    message = diagnose(recording)[0].message
    assert "block.spare.weight" in message
    assert "inside boxed (layer.py:" in message


def test_what_a_package_checkpoints_or_leaves_out_is_no_error(recorded, tmp_path):
    """Its block runs again within the user's backward(), at lines of the package; a whole idle block is a note."""
    _, _, site = recorded
    spelled = (site / "boxed" / "layer.py").read_text().strip().splitlines()[0]
    package = spelled.split()[1]
    program = tmp_path / "deep.py"
    program.write_text(DEEP.replace("import torch.", f"import {package}.").replace("import torch\n", f"{spelled}\n"))
    _trace(site, tmp_path / "run.json", str(program))
    found = [(finding.kind, finding.severity) for finding in diagnose(load(tmp_path / "run.json"))]
    assert found == [("unused-parameter", "note")]


def test_a_package_that_turns_gradients_off_is_not_to_be_edited(recorded, tmp_path):
    """Parameters that get nothing from a package's no_grad are an error; the fix is in how the package is called."""
    _, _, site = recorded
    package = (site / "boxed" / "layer.py").read_text().strip().splitlines()[0]
    program = tmp_path / "quiet.py"
    text = DEEP.replace("import torch.utils.checkpoint\n", "").replace("import torch\n", f"{package}\n")
    program.write_text(
        text.replace("Deep", "Quiet")
        .replace("model(torch.randn(4, 3))", "(model(torch.randn(4, 3)) + shift)")
        .replace("model = Quiet()\n", "model = Quiet()\nshift = torch.zeros(3, requires_grad=True)\n")
    )
    _trace(site, tmp_path / "run.json", str(program))
    found = next(one for one in diagnose(load(tmp_path / "run.json")) if one.kind == "broken-chain")
    assert found.remedy.startswith("see when boxed records gradients")


def test_a_program_in_a_package_is_the_users(recorded, tmp_path):
    """Run with ``-m``, code in site-packages is the program itself."""
    _, program, site = recorded
    (site / "boxed" / "train.py").write_text(program.read_text())
    _trace(site, tmp_path / "run.json", "-m", "boxed.train")
    lines = {event.source for event in load(tmp_path / "run.json").events if event.op == "linear"}
    assert {Path(line.file).name for line in lines} == {"layer.py", "train.py"}
    assert not any(line.inside for line in lines)
