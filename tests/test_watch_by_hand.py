"""Programs that update their weights without an optimizer are watched by what lies between their backward passes."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import retrograd
from retrograd.inspect.training.run import watch

torch = pytest.importorskip("torch")
ENGINES = [torch, retrograd]
STEPS = 90

Row = tuple[float, float, float]
"""Loss, norm of the first gradient and of its leaf's change, as the program itself computes them."""
Program = Callable[[Any, list[Row]], list[float]]


def noted(rows: list[Row], loss: Any, gradient: Any, change: Any) -> None:
    """Note a step."""
    rows.append((loss.item(), gradient.norm().item(), change.norm().item()))


def batches(engine: Any) -> Iterator[tuple[Any, Any]]:
    """Yield batches of a linear problem."""
    engine.manual_seed(11)
    for _ in range(STEPS):
        x = engine.randn(12, 3)
        yield x, x.sum(1, keepdim=True)


def in_place(engine: Any, rows: list[Row]) -> list[float]:
    """Writes under no_grad; gradients are set to zero."""
    w = engine.zeros(3, 1, requires_grad=True)
    for x, y in batches(engine):
        loss = (x @ w - y).square().mean()
        loss.backward()
        with engine.no_grad():
            before = w.clone()
            w -= 0.1 * w.grad
            noted(rows, loss, w.grad, w - before)
        w.grad.zero_()
    return [one.item() for one in w.flatten()]


def through_data(engine: Any, rows: list[Row]) -> list[float]:
    """An optimizer class of the program's own, that writes through ``.data``, after two passes."""

    class Momentum:
        def __init__(self, parameters: Any) -> None:
            self.parameters = list(parameters)
            self.moments = [engine.zeros_like(one) for one in self.parameters]

        def update(self) -> None:
            for one, moment in zip(self.parameters, self.moments, strict=True):
                moment.mul_(0.5).add_(one.grad)
                one.data.add_(moment, alpha=-0.05)
                one.grad = None

    engine.manual_seed(2)
    net = engine.nn.Linear(3, 1)
    rule = Momentum(net.parameters())
    for x, y in batches(engine):
        losses = []
        for half in (slice(0, 6), slice(6, 12)):
            losses.append(engine.nn.functional.mse_loss(net(x[half]), y[half]))
            losses[-1].backward()
        before, gradient = net.weight.detach().clone(), net.weight.grad.clone()
        rule.update()
        noted(rows, (losses[0] + losses[1]) / 2, gradient, net.weight.detach() - before)
    return [one.sum().item() for one in net.parameters()]


def made_anew(engine: Any, rows: list[Row]) -> list[float]:
    """A function that returns other leaves, as programs for JAX do; an input is a leaf as well."""

    def loss_of(parameters: dict[str, Any], x: Any, y: Any) -> Any:
        return (x @ parameters["w"] + parameters["b"] - y).square().mean()

    def updated(parameters: dict[str, Any], x: Any, y: Any) -> dict[str, Any]:
        loss = loss_of(parameters, x, y)
        grads = engine.autograd.grad(loss, list(parameters.values()))
        pairs = zip(parameters.items(), grads, strict=True)
        new = {name: (one - 0.1 * grad).detach().requires_grad_() for (name, one), grad in pairs}
        noted(rows, loss, grads[0], new["w"].detach() - parameters["w"].detach())
        return new

    parameters = {"w": engine.zeros(3, 1).requires_grad_(), "b": engine.zeros(1).requires_grad_()}
    for x, y in batches(engine):
        parameters = updated(parameters, x.clone().requires_grad_(), y)
    return [one.sum().item() for one in parameters.values()]


def made_anew_in_modules(engine: Any, rows: list[Row]) -> list[float]:
    """Parameters of a module are replaced after ``backward()``; inputs need a gradient, too."""
    engine.manual_seed(3)
    net = engine.nn.Linear(3, 1)
    for x, y in batches(engine):
        loss = (net(x.requires_grad_()) - y).square().mean()
        loss.backward()
        for name, one in list(net.named_parameters()):
            new = engine.nn.Parameter(one.detach() - 0.1 * one.grad)
            if name == "weight":
                noted(rows, loss, one.grad, new.detach() - one.detach())
            setattr(net, name, new)
    return [one.sum().item() for one in net.parameters()]


def copied_from_masters(engine: Any, rows: list[Row]) -> list[float]:
    """Weights are copied from others of higher precision."""
    engine.manual_seed(4)
    net = engine.nn.Linear(3, 1).to(engine.bfloat16)
    masters = [one.detach().float().clone() for one in net.parameters()]
    for x, y in batches(engine):
        loss = (net(x.to(engine.bfloat16)).float() - y).square().mean()
        net.zero_grad()
        loss.backward()
        before = net.weight.detach().clone()
        with engine.no_grad():
            for master, one in zip(masters, net.parameters(), strict=True):
                master -= 0.1 * one.grad.float()
                one.copy_(master)
        noted(rows, loss, net.weight.grad.float(), net.weight.detach().float() - before.float())
    return [one.float().sum().item() for one in net.parameters()]


PROGRAMS: list[tuple[Program, str]] = [
    (in_place, "w"),
    (through_data, "weight"),
    (made_anew, 'parameters["w"]'),
    (made_anew_in_modules, "weight"),
    (copied_from_masters, "weight"),
]
WITHOUT_LAST = {made_anew, made_anew_in_modules}
"""No pass shows what the last step has made."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("program", "name"), PROGRAMS)
def test_steps_between_passes_are_those_of_the_program(engine: Any, program: Program, name: str) -> None:
    """Losses, gradients and updates are what the program computes; its result is the same to the bit; no trigger."""
    alone = program(engine, [])
    rows: list[Row] = []
    with watch(triggers={"rate": True, "exploding": True, "zeros": True, "nonfinite": True}) as run:
        watched = program(engine, rows)

    last = -1 if program in WITHOUT_LAST else None
    names = [owner for owner in run.curves.owners("gradient") if owner.rpartition("[")[0] != "x"]
    owner = next(one for one in names if one.endswith(name.rpartition(".")[2]) or name.endswith('["w"]'))
    found = [run.curves.of("loss"), run.curves.of("gradient", owner), run.curves.of("update", owner)]
    assert watched == alone
    assert run.problems == 0, run._guard.problems
    for figure, values in zip(found, zip(*rows[:last], strict=True), strict=True):
        assert figure.tolist() == pytest.approx(values, rel=2e-2 if program is copied_from_masters else 1e-4, abs=1e-6)
    assert len(names) == (1 if program is in_place else 2), "an input was taken for a weight"
    assert run.happened == []
    assert "no optimizer" in run.about["steps"].lower()


FAILING = """
engine.manual_seed(7)
w = engine.full((3, 1), 0.1, requires_grad=True)
scale = 1.0
def learn(x):
    cost = (engine.rand(8, 3) + x.log() @ w - x.sum(1, keepdim=True)).square().mean() * scale
    cost.backward()
    w.data.add_(w.grad, alpha=-0.01)
    w.grad = None
for number in range(1, 70):
    x = engine.rand(8, 3) + 0.1
    scale = 1.0 + number / 100
    if number == 61:
        x[2, 1] = -1.0
    learn(x)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_step_is_run_again_as_it_was(engine: Any, tmp_path: Path) -> None:
    """Variables, globals and random numbers are those of the step, though another one has begun when it is read."""
    program = tmp_path / "train.py"
    program.write_text(FAILING)
    with watch(file=tmp_path / "run.json", replay=True) as run:
        runpy.run_path(str(program), {"engine": engine}, "__main__")

    line = next(n for n, text in enumerate(FAILING.splitlines(), 1) if ".log()" in text)
    (happened,) = run.happened
    assert (happened["trigger"], happened["step"]) == ("nonfinite", 61)
    assert happened["again"].get("equal") is True, happened
    assert ("nan-origin", line) in {(one["kind"], one["line"]) for one in happened["again"]["findings"]}


def test_passes_within_a_pass_are_parts_of_it() -> None:
    """A checkpoint runs a pass of its own within the pass: the loss and the gradients are those of the whole one."""
    torch.manual_seed(1)
    first, last = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    losses, norms = [], []
    with watch() as run:
        for _ in range(30):
            x = torch.randn(6, 3, requires_grad=True)
            hidden = torch.utils.checkpoint.checkpoint(lambda x: first(x).tanh(), x, use_reentrant=True)
            loss = last(hidden).square().mean()
            loss.backward()
            losses.append(loss.item())
            norms.append(first.weight.grad.norm().item())
            with torch.no_grad():
                for one in (*first.parameters(), *last.parameters()):
                    one -= 0.1 * one.grad
                    one.grad = None

    assert run.problems == 0, run._guard.problems
    assert run.curves.of("loss").tolist() == pytest.approx(losses, rel=1e-5)
    found = run.curves.of("gradient", "first.weight").tolist()
    assert sorted(run.curves.owners("gradient")) == ["first.bias", "first.weight", "last.bias", "last.weight"]
    assert found[3:] == pytest.approx(norms[3:], rel=1e-5), "leaves of a checkpoint are found by what it does in a pass"


def test_what_is_no_step() -> None:
    """Passes without writes are no steps; where an optimizer steps, the inner steps of an attack are none."""
    net = torch.nn.Linear(4, 1)
    with watch() as looked:
        for _ in range(100):
            x = torch.randn(6, 4, requires_grad=True)
            net(x).sum().backward()
    with watch(net) as attacked:
        sgd = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(30):
            change = torch.zeros(6, 4, requires_grad=True)
            for _ in range(5):
                net(torch.ones(6, 4) + change).sum().backward()
                change.data.add_(change.grad.sign(), alpha=0.1)
                change.grad = None
            sgd.zero_grad()
            net(change.detach()).square().mean().backward()
            sgd.step()

    assert looked.run.steps == 0
    assert attacked.run.steps == 30
    assert attacked.curves.owners("gradient") == ["weight", "bias"]
    assert attacked.problems == looked.problems == 0


@pytest.mark.parametrize("by_hand", [True, False])
def test_weights_can_be_swapped(by_hand: bool) -> None:
    """``swap_tensors``, which refuses tensors with weak references, does while watching what it does alone."""
    losses: list[list[float]] = []
    for watched in (False, True):
        torch.manual_seed(2)
        layer = torch.nn.Linear(4, 3)
        optimizer = None if by_hand else torch.optim.SGD(layer.parameters(), lr=0.1)
        run = watch() if watched else None
        losses.append([])
        for step in range(8):
            x = torch.randn(6, 4)
            loss = (layer(x) - x[:, :3]).square().mean()
            losses[-1].append(loss.item())
            layer.zero_grad()
            loss.backward()
            if optimizer is None:
                with torch.no_grad():
                    for one in layer.parameters():
                        one -= 0.1 * one.grad
            else:
                optimizer.step()
            if step == 4:
                torch.utils.swap_tensors(layer.bias, torch.nn.Parameter(torch.ones(3)))
        if run is not None:
            run.close()

    assert losses[0] == losses[1]
