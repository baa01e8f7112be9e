"""Programs that use ``torch.compile`` run as they are; what a region hides is said, and seen without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from side_by_side import environment

from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.unseen import sentences

pytest.importorskip("torch", "2.6")

PROGRAM = """
import json, torch
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.recording.unseen import sentences

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 8)
        self.outer = torch.nn.Linear(8, 1)
    def forward(self, x):
        h = torch.relu(self.inner(x))
        return self.outer(h.detach())

def train():
    torch.manual_seed(0)
    net = Net()
    fast = torch.compile(net, backend="aot_eager")
    loss = fast(torch.ones(2, 4)).sum()
    loss.backward()
    return loss.item(), net.outer.weight.grad.tolist()

found = {"plain": train()}
for eager in (False, True):
    with recording(level="full", eager=eager) as recorded:
        found[f"results {eager}"] = train()
    found[f"kinds {eager}"] = [(one.kind, one.line, one.message) for one in diagnose(recorded)]
    found[f"said {eager}"] = sentences([recorded])
    found[f"lines {eager}"] = sorted({one.line for one in recorded.graphs[0].source if one})
    found[f"classes {eager}"] = recorded.graphs[0].classes
    found[f"drawn {eager}"] = renderer_for("tree").render(recorded, RenderOptions())
    found[f"leaves {eager}"] = sorted(name for name in recorded.graphs[0].name if name)
found["after"] = train()
with recording(level="full") as recorded:
    train()
found["again"] = sentences([recorded])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the program prints."""
    script = tmp_path_factory.mktemp("compiled") / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment())
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_results_are_those_of_the_program_alone(found: Any) -> None:
    """Losses and gradients are the same to the bit, watched and not, compiled and not."""
    assert all(found[key] == found["plain"] for key in ("results False", "results True", "after"))


def test_a_region_is_said_to_hide_what_it_hides(found: Any) -> None:
    """The report of a compiled region names the option that shows it, and the next recording is as the first."""
    (said,) = found["said False"]

    assert "torch.compile" in said
    assert "--eager" in said
    assert found["said True"] == []
    assert found["again"] == found["said False"]


def test_parameters_have_the_paths_of_their_modules(found: Any) -> None:
    """What the wrapper calls the module that it holds is no part of a name."""
    assert {"inner.weight", "inner.bias", "outer.weight", "outer.bias"} <= set(found["leaves False"])
    assert "fast.inner.weight and fast.inner.bias" in found["kinds True"][0][2]


def test_a_region_is_drawn_at_the_line_that_calls_it(found: Any) -> None:
    """Its card has that line, the class that was compiled, and parameters by their paths within it."""
    (line,) = found["lines False"]

    assert PROGRAM.splitlines()[line - 1].strip() == "loss = fast(torch.ones(2, 4)).sum()"
    assert found["classes False"]["fast"] == "Net"
    assert "outer.weight 1×8" in found["drawn False"]


def test_lines_are_seen_when_it_runs_uncompiled(found: Any) -> None:
    """The line of the detach inside the region is named."""
    ((kind, line, _),) = found["kinds True"]

    assert (kind, PROGRAM.splitlines()[line - 1].strip()) == ("broken-chain", "return self.outer(h.detach())")


def test_a_version_without_stances_is_said() -> None:
    """Where PyTorch cannot be asked, one sentence says that regions ran as usual."""
    missed = Event("missed", op="stance", data={"why": "", "count": 2})
    (said,) = sentences([Recording(events=[Event("backward"), missed])])

    assert "torch.compiler.set_stance" in said


def test_the_option(tmp_path: Path) -> None:
    """Both commands that run a program take ``--eager``."""
    (tmp_path / "program.py").write_text("import sys\nprint(sys.argv)")
    for command in ("trace", "diagnose"):
        line = [sys.executable, "-m", "retrograd", command, "--eager", "program.py"]
        done = subprocess.run(line, capture_output=True, text=True, env=environment(), cwd=tmp_path)
        assert done.stdout == "['program.py']\n", done.stderr
