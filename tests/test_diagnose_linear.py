"""The work of a diagnosis grows as the recording does, whatever the program's loop does."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import all_checks
from retrograd.inspect.diagnosis.facts.flow import Flow

HEAD = """
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range({count}):
"""
LOOPS = {
    "clipped": """
    optimizer.zero_grad()
    net(torch.randn(3, 2)).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
""",
    "by hand": """
    loss = (net(torch.randn(3, 2)) ** 2).mean() + 0.1 * net[0].weight.abs().sum()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.01 * p.grad
            p.data.clamp_(-1, 1)
            p.grad.zero_()
""",
    "adversaries": """
    for p in net[2].parameters():
        p.requires_grad_(step % 2 == 0)
    made = net[0](torch.randn(3, 2))
    loss = (net[2](made.detach()) - 1).pow(2).mean() - net[2](made).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "adjoint": """
    y, lam = torch.randn(3, 2), torch.ones(3, 2)
    for _ in range(3):
        z = y.detach().requires_grad_(True)
        out = net(z)
        taken = torch.autograd.grad(out, [z, *net.parameters()], lam)
        lam, y = lam + 0.1 * taken[0], y - 0.1 * out.detach()
    for p, g in zip(net.parameters(), taken[1:]):
        p.grad = g
    optimizer.step()
""",
    "hooked": """
    hidden = net[0](torch.randn(3, 2))
    hidden.register_hook(lambda grad: grad * 0.5)
    handle = net[2].weight.register_hook(lambda grad: grad + 0)
    optimizer.zero_grad()
    net[2](hidden).pow(2).mean().backward()
    optimizer.step()
    handle.remove()
""",
    "nested": """
    x = torch.randn(3, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    optimizer.zero_grad()
    (slope.pow(2).sum() + net(x).pow(2).mean()).backward()
    optimizer.step()
    with torch.no_grad():
        score = net(torch.randn(3, 2)).mean().item()
""",
}


def work(body: str, count: int, folder: Any) -> tuple[int, dict[str, int]]:
    """How many events a program gives, and how many lines of ours each check runs, each time round a loop again."""
    recorded = record(HEAD.format(count=count) + body, folder, engine="retrograd", keep=None)
    flow, done = Flow(recorded), dict[str, int]()
    lines = 0

    def counted(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return counted

    for name, check in all_checks().items():
        before, traced = lines, sys.gettrace()
        sys.settrace(counted)
        try:
            list(check.find(flow))
        finally:
            sys.settrace(traced)
        done[name] = lines - before
    return len(flow.events), done


@pytest.mark.parametrize("name", LOOPS)
def test_four_times_the_steps_are_four_times_the_work(name, tmp_path):
    """No check does much more than four times as much for four times as many steps."""
    for check in all_checks().values():  # what is read and compiled once
        list(check.find(Flow(record(HEAD.format(count=2) + LOOPS[name], tmp_path, engine="retrograd"))))
    events, some = work(LOOPS[name], 12, tmp_path)
    more_events, more = work(LOOPS[name], 48, tmp_path)
    ratio = more_events / events

    assert ratio > 3.5
    assert {check: (some[check], more[check]) for check in some if more[check] > 1.2 * ratio * some[check] + 500} == {}
