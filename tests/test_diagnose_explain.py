"""What is certain is a finding, or has a reason that ``--explain`` shows; findings say what speaks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect import diagnosis
from retrograd.inspect.diagnosis import Case, Check, Dropped, diagnose

SILENT = {
    "zero throughout": (
        """import torch
margin = torch.tensor(0.5, requires_grad=True)
opt = torch.optim.SGD([margin], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (torch.relu(margin) - margin).square().backward()
    opt.step()
""",
        ("zero-gradient", 2, "3 backward passes"),
        "no rule knows the cause",
    ),
    "an optimizer that is never stepped": (
        """import torch
net, spare = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
opt, idle = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD(spare.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(4, 3)).sum().backward()
    opt.step()
""",
        ("unused-parameter", 2, "spare.weight and spare.bias"),
        "only optimizers that never step have it, while others step",
    ),
    "a draw and its probability": (
        """import torch
torch.manual_seed(0)
scores = torch.zeros(4, requires_grad=True)
opt = torch.optim.SGD([scores], lr=0.1)
for _ in range(4):
    p = torch.softmax(scores, 0)
    drawn = torch.nn.functional.one_hot(torch.multinomial(p, 3, replacement=True), 4).float()
    opt.zero_grad()
    (-(torch.log(p) * drawn).sum()).backward()
    opt.step()
""",
        ("nondifferentiable", 7, "multinomial"),
        "its own probability",
    ),
}
"""Right programs, or such as nobody can explain: what is certain in them, and the reason that is shown."""


@pytest.mark.parametrize("name", SILENT)
def test_what_is_certain_has_a_reason(name: str, tmp_path: Path) -> None:
    """Nothing is reported, and whoever asks sees what is there, at its line, and why it is not reported."""
    pytest.importorskip("torch")
    text, (kind, line, said), reason = SILENT[name]
    dropped: list[Dropped] = []

    assert [one.message for one in diagnose(record(text, tmp_path), dropped=dropped) if one.severity != "note"] == []
    seen = [
        (one.finding.kind, one.finding.line) for one in dropped if reason in one.reason and said in one.finding.message
    ]
    assert (kind, line) in seen, [(one.finding.message, one.reason) for one in dropped]


def test_what_a_finding_explains_has_no_second_reason(tmp_path: Path) -> None:
    """A cut says of what it is the cause; the leaves behind it are not told once more without one."""
    pytest.importorskip("torch")
    text = """import torch
body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    head(body(torch.ones(5, 3)).detach()).sum().backward()
    opt.step()
"""
    dropped: list[Dropped] = []

    found = diagnose(record(text, tmp_path), dropped=dropped)

    assert [(one.kind, one.line) for one in found] == [("broken-chain", 6)]
    assert found[0].evidence["because"][0] == "an optimizer has them"
    assert "detach at program.py:6 is the first without a node" in found[0].evidence["because"][1]
    assert dropped == []


@pytest.mark.parametrize(
    "chosen",
    [
        "if h.abs().max() > limit:\n            h = self.relief(h)\n        return self.out(h)",
        "return self.out(self.relief(h) if h.abs().max() > limit else h)",
    ],
)
def test_what_a_case_that_did_not_occur_would_use_is_a_note(chosen: str, tmp_path: Path) -> None:
    """A layer for a rare case is no error, and the line that would call it is named; without it the layer is one."""
    pytest.importorskip("torch")
    text = f"""import torch
class Valve(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inflow, self.out = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
        self.relief = torch.nn.Linear(4, 4)
    def forward(self, p, limit=50.0):
        h = self.inflow(p)
        {chosen}
net = Valve()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(2):
    opt.zero_grad()
    net(torch.rand(10, 2)).square().mean().backward()
    opt.step()
"""
    line = 1 + next(at for at, one in enumerate(text.splitlines()) if "self.relief(h)" in one)

    rare = diagnose(record(text, tmp_path))
    never = diagnose(record(text.replace("self.relief(h)", "h"), tmp_path))

    assert [(one.severity, one.line, f"program.py:{line}, in a case" in one.message) for one in rare] == [
        ("note", 6, True)
    ]
    assert [(one.severity, one.line) for one in never] == [("error", 6)]


DETACHED = """import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = net(torch.ones(4, 3)).detach().requires_grad_().sum()
    loss.backward()
    opt.step()
"""


@pytest.mark.own_problems
@pytest.mark.parametrize("failing", ["check", "change"])
def test_a_failure_of_one_check_loses_no_other_finding(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that fails, or what proposes a change, is named on stderr; what the others find is reported."""
    recording = record(DETACHED, tmp_path)

    def fail(*_: object) -> Iterator[Case]:
        raise KeyError("not there")

    if failing == "check":
        checks = {"broken": Check("broken", {}, fail), **diagnosis.all_checks()}
        monkeypatch.setattr(diagnosis, "all_checks", lambda: checks)
    else:
        monkeypatch.setattr(diagnosis.Fixes, "of", fail)
    found = diagnose(recording)

    assert [one.kind for one in found] == ["broken-chain"]
    assert "failed (KeyError: 'not there') and is left out" in capsys.readouterr().err
