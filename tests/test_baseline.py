"""A run beside one that works: what it does otherwise is named at its line, and other seeds and sizes are nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import record
from side_by_side import retrograd as run_command

from retrograd.inspect.baseline import compared
from retrograd.inspect.findings import Finding
from retrograd.inspect.recording.events import Recording

WORKS = """\
import torch

class Forecaster(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.read = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.25)
        self.tell = torch.nn.Linear(8, 1)

    def forward(self, series):
        hidden = torch.tanh(self.norm(self.read(series))).float()
        return self.tell(self.drop(hidden))

def batch(rows):
    return torch.randn(rows, 4)

torch.manual_seed(1)
net = Forecaster()
adam = torch.optim.Adam(net.parameters(), lr=0.01)
for turn in range(8):
    net.train()
    series = batch(6)
    loss = torch.nn.functional.mse_loss(net(series), series.mean(1, keepdim=True))
    adam.zero_grad()
    loss.backward()
    adam.step()
    net.eval()
    with torch.no_grad():
        net(batch(5))
"""

DRAWN = "    return torch.randn(rows, 4)"
FAULTS = {
    "evaluation mode": ("    net.train()\n", "    net.eval()\n", "= False while gradients", "self.norm"),
    "dropout in evaluation": ("    net.eval()\n", "", "= True while no", "self.norm"),
    "seed set again": (DRAWN, DRAWN.replace("return", "torch.manual_seed(3); return"), "repeat", "torch.randn"),
    "cut": ("self.drop(hidden)", "self.drop(hidden.detach())", "detach is called", "detach"),
    "frozen": ("adam = ", "net.tell.requires_grad_(False)\nadam = ", "give a gradient to net.tell", "loss.backward"),
    "rate": ("lr=0.01", "lr=10.0", "lr = 10.0, and 0.01", "adam ="),
    "left out": ("Adam(net.parameters(),", "Adam(net.tell.parameters(),", "holds net.read", "adam ="),
    "written again": ("adam = ", "torch.nn.init.zeros_(net.read.weight)\nadam = ", "into net.read.weight", "zeros_"),
    "zeros": (DRAWN, DRAWN + ".mul_(0 if rows == 6 else 1)", "mul_", "mul_"),
    "narrower": ("self.norm(self.read(series))", "self.norm(self.read(series)).half()", "float16", "tanh"),
}  # fmt: skip


def differences(text: str, works: Recording, folder: Path, engine: str) -> list[Finding]:
    """What a program does otherwise than the one that works."""
    assert text != WORKS
    return compared(record(text, folder, engine=engine), works)


@pytest.fixture(scope="module", params=["torch", "retrograd"])
def works(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, str]:
    """The recording of what works, on each engine."""
    pytest.importorskip(request.param)
    return record(WORKS, tmp_path_factory.mktemp("works"), engine=request.param), request.param


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_at_its_line(fault: str, works: tuple[Recording, str], tmp_path: Path) -> None:
    """The first differences say what was changed, at a line that it concerns."""
    baseline, engine = works
    before, after, said, line = FAULTS[fault]
    text = WORKS.replace(before, after, 1)
    found = differences(text, baseline, tmp_path, engine)

    assert found, fault
    named = [one for one in found[:3] if said in one.message]
    assert named, [one.message for one in found]
    assert line in text.splitlines()[named[0].line - 1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("manual_seed(1)", "manual_seed(23)"),
        ("range(8)", "range(13)"),
        ("batch(6)", "batch(60)"),
        ("Linear(4, 8)", "Linear(4, 8) if True else None  # moved to"),
        ("net.eval()\n", "net.eval()\n    print(loss.item() > 0)\n"),
    ],
)
def test_what_makes_no_difference(before: str, after: str, works: tuple[Recording, str], tmp_path: Path) -> None:
    """Another seed, length or batch is none, nor is a line that only tells."""
    baseline, engine = works
    found = differences(WORKS.replace(before, after, 1), baseline, tmp_path, engine)

    assert [one.message for one in found if one.severity != "note"] == []


def test_command(tmp_path: Path) -> None:
    """``diagnose --against`` reports differences behind the findings, and refuses what tells too little."""
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(WORKS.replace("import torch", "import retrograd as torch"))
    bad.write_text(good.read_text().replace("    net.train()\n", "    net.eval()\n"))
    assert run_command("trace", "--level", "full", "-q", "-o", "good.json", "good.py", cwd=tmp_path).code == 0

    told = run_command("diagnose", "--against", "good.json", "bad.py", cwd=tmp_path)
    assert told.code == 1
    assert "differs-from-baseline" in told.err
    missing = run_command("diagnose", "--against", "none.json", "bad.py", cwd=tmp_path)
    assert missing.code == 2
    assert "none.json" in missing.err
