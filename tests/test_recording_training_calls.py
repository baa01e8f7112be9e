"""What recordings tell of modes of modules, loaded states, schedules of rates and gradient scalers."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_pair import of_kind, record

PROGRAM = """import torch
nn = torch.nn


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.drop, self.idle = nn.Dropout(0.5), nn.Dropout(0.0)

    def forward(self, x):
        return self.idle(self.drop(self.norm(x)))


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), Kept(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.1)
kept = {"module.0.weight": torch.ones(4, 3), "2.bias": torch.ones(1)}
missing, unexpected = net.load_state_dict(kept, strict=False)
print(len(missing), len(unexpected))
scaler = torch.amp.GradScaler("cpu")
for step in range(4):
    optimizer.zero_grad()
    scaler.scale(net(torch.randn(8, 3)).sum()).backward()
    if step == 2:
        net.eval()
        net.eval()
        for group in optimizer.param_groups:
            group["lr"] *= 0.0
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
net.train()
"""


def lines(events: list[Any]) -> list[tuple[str, int]]:
    """Operator and line of each event."""
    return [(event.op, event.source.line) for event in events]


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_training_calls_are_told_with_their_lines(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a switch that changes what some module computes; rates by the line that set them, in whatever way."""
    pytest.importorskip(engine)
    recorded, error = record(PROGRAM, engine)

    assert error is None
    missing, unexpected = map(int, capsys.readouterr().out.split())
    modes = of_kind(recorded, "mode")
    assert lines(modes) == [("eval", 27), ("train", 34)]
    assert [event.data["names"] for event in modes] == [["1.norm (BatchNorm1d)", "1.drop (Dropout)"]] * 2
    (load,) = of_kind(recorded, "load")
    told = [load.data[key] for key in ("missing_count", "unexpected_count", "matched")]
    assert told == [missing, unexpected, len({"module.0.weight", "2.bias"}) - unexpected]
    assert lines(of_kind(recorded, "scaling")) == [("scale", 25), ("unscale_", 31), ("step", 31)] * 4
    steps = [event.data for event in of_kind(recorded, "optimizer") if event.data["action"] == "step"]
    assert [step["settings"][0]["lr"] for step in steps] == pytest.approx([0.5, 0.5, 0.0, 0.0])
    assert [step["set_at"][1] if "set_at" in step else None for step in steps] == [None, None, 30, 30]
    assert [bool(step["still"]) for step in steps] == [False, False, True, True]


MISSPELT = """import torch


def main():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    for p in net[0].parameters():
        p.require_grad = False
    net[1].requires_grad = False
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()


main()
"""


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_attributes_that_switch_nothing_are_seen_while_their_modules_live(engine: str) -> None:
    """The modules of a function are gone when it returns: each is told of once, before a backward run."""
    pytest.importorskip(engine)
    recorded, error = record(MISSPELT, engine)

    assert error is None
    told = [(one.op, one.data["path"], one.source.line) for one in of_kind(recorded, "stray")]
    assert sorted(told) == [
        ("require_grad", "net/0/bias", 7),
        ("require_grad", "net/0/weight", 7),
        ("requires_grad", "net/1", 8),
    ]
