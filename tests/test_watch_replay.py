"""A step that goes wrong is run again whatever shape the program's loop has, and the loss is the same to the bit."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import retrograd
from retrograd.inspect.training.run import watch

torch = pytest.importorskip("torch")
ENGINES = {"torch": torch, "retrograd": retrograd}

BEGIN = """
engine.manual_seed(7)
net = engine.nn.Sequential(engine.nn.Linear(3, 5), engine.nn.Tanh(), engine.nn.Linear(5, 1))
adam = engine.optim.Adam(net.parameters(), lr=0.01)
def batches():
    for number in range(1, 70):
        x = engine.rand(8, 3) + 0.1
        if number == 61:
            x[2, 1] = -1.0
        yield x
"""
LOOPS = {
    "a sum is kept over the turns of a module's loop": """
total = 0.0
for x in batches():
    adam.zero_grad()
    cost = (net(x.log()) - x.sum(1, keepdim=True)).square().mean()
    total += 1
    cost.backward(); adam.step()
""",
    "the batch is taken by next()": """
def run(stream, rounds):
    for _ in range(rounds):
        x = next(stream)
        cost = (net(x.log()) - x.sum(1, keepdim=True)).square().mean()
        cost.backward()
        adam.step()
        adam.zero_grad()
run(batches(), 65)
""",
    "the pass forward is made by another function than the step": """
def seen(x):
    return net(x.log())
def learn(out, x):
    adam.zero_grad()
    (out - x.sum(1, keepdim=True)).square().mean().backward()
    adam.step()
turns = 0
def all_of_them():
    global turns
    for x in batches():
        turns += 1
        learn(seen(x), x)
all_of_them()
""",
    "a closure is passed to the step": """
def fit(x):
    def closure():
        adam.zero_grad()
        cost = (net(x.log()) - x.sum(1, keepdim=True)).square().mean()
        cost.backward()
        return cost
    adam.step(closure)
for x in batches():
    fit(x)
""",
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("engine", ENGINES)
def test_loops_of_all_shapes_are_run_again(engine: str, loop: str, tmp_path: Path) -> None:
    """The logarithm of the one negative number is named, at its line, in the step in which it was there."""
    program = tmp_path / "train.py"
    program.write_text(BEGIN + LOOPS[loop])
    with watch(file=tmp_path / "run.json", replay=True) as run:
        runpy.run_path(str(program), {"engine": ENGINES[engine]}, "__main__")

    (happened,) = run.happened
    line = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if ".log()" in text)
    assert (happened["trigger"], happened["step"]) == ("nonfinite", 61)
    assert happened["again"].get("equal") is True, happened
    assert ("nan-origin", line) in {(one["kind"], one["line"]) for one in happened["again"]["findings"]}


def test_step_of_consumed_data_is_not_run_again(tmp_path: Path) -> None:
    """A step that takes the next batch itself is left alone, and the reason is said."""
    parameter = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    data = iter([torch.ones(2), torch.full((2,), torch.inf), torch.ones(2)])
    with watch(file=tmp_path / "run.json", replay=True) as run:
        for _ in range(2):
            (parameter * next(data)).sum().backward()
            optimizer.step()

    assert "next()" in run.happened[0]["again"]["reason"]
    assert torch.equal(next(data), torch.ones(2))


def scaled(engine: Any, steps: int, *, spoiled_from: int, scale: float = 1024.0) -> Any:
    """Train with a scaler; from a step on, inputs are so large that gradients overflow however small the scale is."""
    engine.manual_seed(3)
    net = engine.nn.Linear(4, 1)
    sgd = engine.optim.SGD(net.parameters(), lr=0.01)
    scaler = engine.amp.GradScaler("cpu", init_scale=scale, growth_interval=20)
    losses = []
    for step in range(1, steps + 1):
        x = engine.randn(8, 4)
        sgd.zero_grad()
        out = net(x)
        if step >= spoiled_from:
            out.register_hook(lambda gradient: gradient * float("inf"))
        loss = (out - x.sum(1, keepdim=True)).square().mean()
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("engine", [torch, retrograd])
def test_steps_that_a_scaler_leaves_out(engine: Any) -> None:
    """Losses are those before they are scaled; steps left out now and then are right, many in a row are told."""
    with watch() as right:
        losses = scaled(engine, 90, spoiled_from=1000, scale=2.0**126)
    with watch() as wrong:
        scaled(engine, 90, spoiled_from=61)

    assert right.curves.of("loss").tolist() == pytest.approx(losses, rel=1e-6)
    assert (right.curves.of("nonfinite", "weight") > 0).any(), "no step was left out: this test tests nothing"
    assert right.happened == []
    assert [(one["trigger"], one["step"]) for one in wrong.happened] == [("scale", 65)]
