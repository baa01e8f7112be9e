"""Breakpoints on backward graphs, on both engines."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.errors import UsageError
from retrograd.inspect import BreakpointReached

ENGINES = ["retrograd", "torch"]


def loss_of(engine: str, values: list[float]):
    """sqrt of something, whose slope at zero is infinite."""
    torch = importlib.import_module(engine)
    rate = torch.tensor(values, requires_grad=True)
    return rate, (torch.sqrt(rate) * 2.0).sum()


@pytest.fixture(params=ENGINES)
def engine(request):
    """Each engine, PyTorch only where it is installed."""
    pytest.importorskip(request.param)
    return request.param


def test_raises_where_the_first_infinity_is_born(engine):
    """The error names the node, its line and the place, and leaves backward()."""
    with rg.debug(), rg.breakpoint("nonfinite"):
        _, loss = loss_of(engine, [1.0, 0.0])
        with pytest.raises(BreakpointReached, match=r"SqrtBackward0 \(test_breakpoints\.py:\d+\).* 1 inf.*\[1\]"):
            loss.backward()


def test_does_not_stop_on_healthy_runs(engine):
    """Gradients are those of a plain run, and nothing is left behind."""
    with rg.breakpoint("nonfinite") as bad, rg.breakpoint("zero") as zero:
        rate, loss = loss_of(engine, [1.0, 4.0])
        loss.backward()
    assert [bad.stops, zero.stops] == [[], []]
    assert rate.grad.tolist() == [1.0, 0.5]

    rate, loss = loss_of(engine, [0.0])
    loss.backward()  # outside of the block nothing stops


def test_zero(engine, capsys):
    """A node that passes on nothing but zeros is reported with its line, and the run goes on."""
    torch = importlib.import_module(engine)
    with rg.breakpoint("zero", action="report") as reported:
        w = torch.tensor([-1.0, -2.0], requires_grad=True)
        torch.relu(w * 3.0).sum().backward()

    assert w.grad.tolist() == [0.0, 0.0]
    assert len(reported.stops) == 1
    assert "ReluBackward0" in reported.stops[0]
    assert "retrograd: breakpoint: ReluBackward0" in capsys.readouterr().err


def test_function_as_condition(engine):
    """A condition sees name, line, and gradients as arrays; it works beside a recording."""
    seen = []

    def large(step):
        seen.append(step.op)
        return any(g is not None and abs(g).max() >= 2.0 for g in step.outgoing)

    with rg.debug(), rg.breakpoint(large):
        _, loss = loss_of(engine, [1.0])
        with pytest.raises(BreakpointReached, match="MulBackward0.* meets the condition large"):
            loss.backward()
    assert seen == ["SumBackward0", "MulBackward0"]


@pytest.mark.parametrize("what", ["no grad", "one of two", "grad"])
def test_what_backward_refuses(engine, what):
    """A run that has no graph ends as it does without a breakpoint."""
    torch = importlib.import_module(engine)

    def run():
        graph, none = torch.ones(1, requires_grad=True) * 2.0, torch.ones(1)
        if what == "no grad":
            none.backward()
        elif what == "one of two":
            torch.autograd.backward([graph, none])
        else:
            torch.autograd.grad(none, graph)

    with pytest.raises(RuntimeError, match="does not require grad") as alone:
        run()
    with rg.breakpoint("nonfinite"), pytest.raises(RuntimeError) as stopped:
        run()
    assert str(stopped.value) == str(alone.value)
    assert stopped.type is alone.type


def test_a_leaf_as_root(engine):
    """What a leaf is given itself is seen, and it is called what the graph calls it."""
    torch = importlib.import_module(engine)
    with rg.breakpoint("nonfinite", action="report") as reported:
        torch.tensor(1.0, requires_grad=True).backward(torch.tensor(float("nan")))
    assert [stop.split(" ")[0] for stop in reported.stops] == ["AccumulateGrad"]


def test_a_condition_changes_nothing(engine):
    """The arrays that it sees are the gradients themselves, and cannot be written to."""
    torch = importlib.import_module(engine)
    refused = []

    def sorts(step):
        for gradient in (*step.incoming, *step.outgoing):
            if gradient is not None and gradient.ndim:
                try:
                    gradient.sort()
                except ValueError:
                    refused.append(step.op)

    with rg.breakpoint(sorts):
        w = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
        (w * w).sum().backward()
    assert w.grad.tolist() == [6.0, 2.0, 4.0]
    assert "MulBackward0" in refused


def test_gradients_without_data(engine):
    """Of tensors on ``meta`` there is nothing to see, and backward goes on."""
    torch = importlib.import_module(engine)
    with rg.breakpoint("nonfinite") as bad, rg.breakpoint("zero") as zero:
        w = torch.ones(2, device="meta", requires_grad=True)
        (w * 2.0).sum().backward()
    assert w.grad.shape == (2,)
    assert [bad.stops, zero.stops] == [[], []]


def test_a_run_inside_that_failed(engine):
    """The node around it is seen all the same."""
    torch = importlib.import_module(engine)

    class Solver(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                inner = torch.ones(2, requires_grad=True).exp().sum()
                inner.backward()
                with pytest.raises(RuntimeError):
                    inner.backward()
            return g * float("nan")

    with rg.breakpoint("nonfinite", action="report") as reported:
        Solver.apply(torch.ones(2, requires_grad=True) * 1.0).sum().backward()
    assert "SolverBackward" in reported.stops[0]


@pytest.mark.parametrize(("condition", "action"), [("nan", "raise"), (3, "raise"), ("zero", "stop")])
def test_wrong_arguments(condition, action):
    """They are refused in one sentence."""
    with pytest.raises(UsageError, match="There is no"):
        rg.breakpoint(condition, action)


def test_pdb(tmp_path):
    """The debugger stands in the user's frame, and the run goes on afterwards."""
    program = tmp_path / "stops.py"
    program.write_text(
        "import retrograd as rg\n"
        "def step(secret):\n"
        "    x = rg.tensor([0.0], requires_grad=True)\n"
        "    rg.sqrt(x).sum().backward()\n"
        "    return secret\n"
        "with rg.breakpoint('nonfinite', action='pdb'):\n"
        "    print('done', step(41))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(rg.__file__).parent.parent)}
    ran = subprocess.run(
        [sys.executable, str(program)], input="p secret + 1\nc\nc\nc\n", env=environment, capture_output=True, text=True
    )

    assert "42" in ran.stdout
    assert "done 41" in ran.stdout
    assert "breakpoint: SqrtBackward0 (stops.py:4)" in ran.stderr


STEPPED = """\
import {engine} as torch
import retrograd as rg
def hook(grad):
    return grad
def step():
    x = torch.tensor([0.0], requires_grad=True)
    x.register_hook(hook)
    torch.sqrt(x).sum().backward()
    seen = 41
    return seen
with rg.breakpoint(lambda step: step.op == "SqrtBackward0", action="pdb") as trace:
    step()
    print("done")
"""


@pytest.mark.parametrize(
    ("engine", "commands", "stops"),
    [
        ("torch", "n n p(seen) u p(trace) c", [8, 9, 10, 12]),  # the next lines of the program, not of the engine
        ("retrograd", "s n n p(grad) u c", [8, 3, 4, 4, 8]),  # into what the engine calls
        ("retrograd", "b(10) c q", [8, 10]),  # lines to stop at count, too
    ],
)
def test_pdb_steps(engine, tmp_path, commands, stops):
    """From a breakpoint on, pdb's commands lead where they would from a line of the program."""
    program = tmp_path / "stepped.py"
    pytest.importorskip(engine)
    program.write_text(STEPPED.format(engine=engine))
    environment = {**os.environ, "PYTHONPATH": str(Path(rg.__file__).parent.parent)}
    typed = commands.replace(" ", "\n").replace("(", " ").replace(")", "") + "\n"
    ran = subprocess.run([sys.executable, str(program)], input=typed, env=environment, capture_output=True, text=True)

    assert [int(line) for line in re.findall(r"> .*stepped\.py\((\d+)\)", ran.stdout)] == stops
    assert "retrograd/" not in ran.stdout
    assert ("done" in ran.stdout) is (ran.returncode == 0) is ("q" not in commands)
