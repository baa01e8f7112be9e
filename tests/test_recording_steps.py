"""What recordings tell of the steps of optimizers: gradients found, parameters left as they were, closures."""

from __future__ import annotations

import pytest
from recorded_pair import of_kind, record

STEPS = """import torch

torch.manual_seed(0)
net = torch.nn.Linear(300, 20)
spare = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([*net.parameters(), spare], lr=0.1)
for clears in (lambda g: None, lambda g: g.mul_(0), lambda g: g.data.copy_(torch.zeros_like(g)), lambda g: None):
    before = net.weight.detach().clone()
    net(torch.randn(4, 300)).pow(2).mean().backward()
    clears(net.weight.grad)
    optimizer.step()
    print((net.weight.detach() == before).all().item())
    optimizer.zero_grad()
"""
CLOSURE = """import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=2, max_eval=2)
x = torch.ones(4, 3)


def kept():
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss


def cleared():
    loss = net(x).pow(2).mean()
    loss.backward()
    for p in net.parameters():
        p.grad.fill_(0)
    return loss


optimizer.step(kept)
optimizer.step(closure=cleared)
"""
LAYOUTS = """import torch

for dtype in (torch.float32, torch.float64, torch.float16):
    for leaf in (torch.ones(6), torch.ones(300, 300), torch.ones(300, 20).t(), torch.ones(9, 9)[::2, ::2]):
        leaf = leaf.to(dtype).detach().requires_grad_()
        optimizer = torch.optim.SGD([leaf], lr=1.0)
        leaf.grad = torch.zeros_like(leaf)
        optimizer.step()
        leaf.grad[..., -1] = 0.5
        optimizer.step()
"""


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_steps_tell_what_they_find_and_what_they_leave(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """However a gradient was cleared; a parameter is said to be left as it was where the program sees it so."""
    pytest.importorskip(engine)
    recorded, error = record(STEPS, engine)
    same = [line == "True" for line in capsys.readouterr().out.split()]

    assert error is None
    steps = [event.data for event in of_kind(recorded, "optimizer") if event.data["action"] == "step"]
    weight, bias, spare = steps[0]["parameters"].values()
    assert same == [False, True, True, False]
    assert [step["without"] for step in steps] == [[spare]] * 4
    assert [weight in step["zero"] for step in steps] == same
    assert [weight in step["still"] for step in steps] == same
    assert all(bias not in step["still"] and spare in step["still"] for step in steps)


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_each_call_of_a_closure_tells_what_it_leaves(engine: str) -> None:
    """The closure's own calls are recorded, those of the optimizer around it are not."""
    pytest.importorskip(engine)
    recorded, error = record(CLOSURE, engine)

    assert error is None
    told = [
        (event.data["action"], len(event.data.get("zero", ())))
        for event in of_kind(recorded, "optimizer")
        if event.data["action"] not in ("made", "zero_grad")
    ]
    assert told[:4] == [("step", 0), ("evaluated", 0), ("evaluated", 0), ("stepped", 0)]
    assert told[5:7] == [("evaluated", 2), ("stepped", 0)]
    calls = {event.source.line for event in recorded.events if event.kind == "operation" and event.source}
    assert {10, 16} <= calls
    assert calls.isdisjoint({23, 24})


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_any_dtype_and_layout_is_read(engine: str) -> None:
    """A step with a gradient of zeros leaves everything; one with a single other entry does not."""
    pytest.importorskip(engine)
    recorded, error = record(LAYOUTS, engine)

    assert error is None
    steps = [event.data for event in of_kind(recorded, "optimizer") if event.data["action"] == "step"]
    assert [len(step["still"]) for step in steps] == [1, 0] * 12
    assert [len(step["zero"]) for step in steps] == [1, 0] * 12
