"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from retrograd.inspect.histories.watched_file import load_run

TESTS = """
import retrograd as rg

def test_healthy():
    w = rg.ones(3, requires_grad=True)
    (w * 2.0).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]

def test_not_finite():
    rate = rg.tensor([1.0, 0.0], requires_grad=True)
    rg.sqrt(rate).sum().backward()

class Twice(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return g

def test_wrong_function():
    Twice.apply(rg.ones(3, requires_grad=True)).sum().backward()

def test_raises():
    w = rg.ones(3, requires_grad=True)
    w += 1.0

def test_fixture(retrograd_trace):
    w = rg.ones(3, requires_grad=True)
    (w * 2.0).sum().backward()
    assert retrograd_trace.graph.name.count("w") == 1
    assert retrograd_trace.findings == []
"""


def run(folder: Path, *options: str, text: str = TESTS) -> str:
    """Run the tests above, or others; return what pytest printed."""
    folder.joinpath("test_gradients.py").write_text(text)
    root = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-m", "pytest", "-p", "retrograd.pytest_plugin", "-p", "no:cacheprovider", *options]
    outer = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment = {**outer, "PYTHONPATH": root, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_without_the_option(tmp_path):
    """Nothing is checked; the fixture works."""
    printed = run(tmp_path)

    assert "4 passed" in printed
    assert "FAILED test_gradients.py::test_raises" in printed


@pytest.mark.parametrize("option", ["--retrograd", "--retrograd=note"])
def test_with_the_option(tmp_path, option):
    """A gradient that is not finite fails its test with names, line and place; a path may follow the option."""
    printed = run(tmp_path, option, "test_gradients.py")

    assert "2 passed" in printed
    assert "3 failed" in printed
    assert "wrong-backward: Twice.backward" in printed
    assert "FAILED test_gradients.py::test_not_finite" in printed
    assert "gradient of rate has 0 NaN and 1 inf, the first at [1]" in printed
    assert "retrograd: w, " in printed or "retrograd: w " in printed  # the note of the error that was raised


FAILING = """
import unittest
import retrograd as rg

def test_asserts():
    rate = rg.tensor([1.0, 0.0], requires_grad=True)
    rg.sqrt(rate).sum().backward()
    assert rg.isfinite(rate.grad).all()

class TestOld(unittest.TestCase):
    def test_asserts(self):
        speed = rg.tensor([1.0, 0.0], requires_grad=True)
        rg.sqrt(speed).sum().backward()
        self.assertTrue(rg.isfinite(speed.grad).all())

def test_of_something_else():
    assert 1 == 2
"""


def test_a_test_that_fails_by_itself(tmp_path):
    """Its own failure stands, and what is behind it is said beside; where there is nothing, nothing is."""
    printed = run(tmp_path, "--retrograd", "test_gradients.py", text=FAILING)

    assert "3 failed" in printed
    assert printed.count("Captured retrograd call") == 2
    assert "E       assert " in printed
    assert "E       AssertionError: " in printed
    assert printed.count("keep rate away from zero") == printed.count("keep speed away from zero") == 1


RETURNED = """
import importlib
import pytest

from retrograd.inspect.histories.watched_file import load_run

@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("values", [[1.0, 4.0], [0.0, 1.0]], ids=["good", "bad"])
def test_returned(engine, values, again):
    torch = importlib.import_module(engine)
    speed = torch.tensor(values, requires_grad=True)
    torch.autograd.grad(torch.sqrt(speed * 1.0).sum(), speed, create_graph=again)
"""


def test_gradients_that_are_returned(tmp_path):
    """What autograd.grad returns is a gradient, too."""
    engines = ["retrograd", *(["torch"] if importlib.util.find_spec("torch") else [])]
    printed = run(tmp_path, "--retrograd", "test_gradients.py", text=RETURNED.replace("ENGINES", str(engines)))

    assert f"{2 * len(engines)} passed" in printed
    assert f"{2 * len(engines)} failed" in printed
    assert printed.count("the gradient of speed that autograd.grad returns is not finite") >= 2 * len(engines)


MARKED = """
import pytest

from retrograd.inspect.histories.watched_file import load_run
import retrograd as rg

@pytest.mark.no_retrograd
def test_on_purpose():
    rate = rg.tensor([0.0], requires_grad=True)
    rg.sqrt(rate).sum().backward()
    assert rg.isinf(rate.grad).all()
"""


def test_faults_on_purpose(tmp_path):
    """A test that is marked is not checked; the mark is a known one."""
    assert "1 passed" in run(tmp_path, "--retrograd", "--strict-markers", text=MARKED)


def test_a_severity_there_is_not(tmp_path):
    """It is a usage error."""
    assert "passed" not in run(tmp_path, "--retrograd=grave")


TRAINING = """
import torch

def test_fit():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()

def test_nothing():
    assert torch.ones(2).sum() == 2
"""


def test_tests_that_train_are_watched(tmp_path: Path) -> None:
    """``--retrograd-watch`` writes a run for the test that trains, none for the other."""
    pytest.importorskip("torch")
    (tmp_path / "test_training.py").write_text(TRAINING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--retrograd-watch=runs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    (written,) = (tmp_path / "runs").iterdir()
    run = load_run(str(written))
    assert done.returncode == 0
    assert written.name == "test_training.py_test_fit.json"
    assert run.steps == 5
    assert run.curves.owners("gradient") == ["weight"]
