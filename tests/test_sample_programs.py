"""The programs in sample_graphs/: they run, say what to look for, and make the graphs that PyTorch makes of them."""

from __future__ import annotations

import ast
import math
import re
import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from source_tree import ROOT

import retrograd

SAMPLES = sorted((ROOT / "sample_graphs").glob("*.py"))
ASKED_FOR = {
    "attention_head",
    "custom_function",
    "deep_chain",
    "diamond",
    "digits",
    "double_backward",
    "nan_from_log",
    "residual_block",
    "shared_weight",
    "view_and_inplace",
}
RANDOM = {"attention_head", "custom_function", "detached_target", "digits", "digits_parallel", "double_backward"}
RANDOM |= {"encoder", "residual_block", "shared_weight"}  # the two engines draw other numbers from the same seed

# PyTorch has a node of its own for the derivative of tanh's derivative; here it is the operations of tanh's rule.
OTHER_SECOND_ORDER = {"double_backward"}

each_sample = pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)


def build(path: Path) -> Any:
    """The root tensor of a fresh graph of one sample."""
    return runpy.run_path(str(path))["build"]()


def build_with_torch(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same with PyTorch standing in for retrograd."""
    torch = pytest.importorskip("torch")
    # Data-parallel training is for our engine only, and over one process leaves everything as it is.
    monkeypatch.setattr(torch.distributed, "connect", retrograd.distributed.SingleProcess, raising=False)
    monkeypatch.setattr(torch.distributed, "DataParallel", lambda parameters, ranks: None, raising=False)
    monkeypatch.setattr(torch, "scope", retrograd.scope, raising=False)  # names boxes in drawings, and nothing else
    monkeypatch.setitem(sys.modules, "retrograd", torch)
    monkeypatch.setitem(sys.modules, "retrograd.nn", torch.nn)
    monkeypatch.setitem(sys.modules, "retrograd.nn.functional", torch.nn.functional)
    return build(path)


def operations(root: Any) -> Counter[str]:
    """How often each node name occurs in the graph behind a tensor."""
    seen, todo = set(), [root.grad_fn]
    names: Counter[str] = Counter()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        names[node.name().rpartition("::")[2]] += 1
        todo.extend(successor for successor, _ in node.next_functions)
    return names


def test_the_samples_that_must_be_there_are_there() -> None:
    """The ten programs that the project promises exist."""
    assert {path.stem for path in SAMPLES} >= ASKED_FOR


@each_sample
def test_docstring_says_what_to_look_for(path: Path) -> None:
    """A sample's first line says what it is and its docstring says what to look for."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first, _, rest = text.partition("\n")

    assert first.endswith(".")
    assert len(first) <= 110
    assert "What to look for:" in rest


@each_sample
def test_programs_know_nothing_of_the_inspector(path: Path) -> None:
    """A sample is an ordinary program: it uses the engine only, so that tracing it proves something."""
    assert "inspect" not in path.read_text(encoding="utf-8")


@each_sample
def test_build_gives_a_loss_that_runs_backward(path: Path) -> None:
    """`build()` returns one number with a graph, and backward goes through it."""
    loss = build(path)

    assert isinstance(loss, retrograd.Tensor)
    assert loss.numel() == 1
    loss.backward()


@pytest.mark.parametrize("path", [p for p in SAMPLES if p.stem not in OTHER_SECOND_ORDER], ids=lambda path: path.stem)
def test_graph_has_the_operations_that_pytorch_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source on PyTorch gives a graph with the same node names, equally often."""
    ours = operations(build(path))

    assert ours == operations(build_with_torch(path, monkeypatch))


@pytest.mark.parametrize("path", [p for p in SAMPLES if p.stem not in RANDOM], ids=lambda path: path.stem)
def test_loss_is_the_number_that_pytorch_computes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is random, both engines compute the same loss."""
    ours = build(path).item()

    assert ours == pytest.approx(build_with_torch(path, monkeypatch).item(), rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("path", [p for p in SAMPLES if not p.stem.startswith("digits")], ids=lambda path: path.stem)
def test_program_runs_as_a_script(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Started by itself, a sample runs forward and backward and prints its loss."""
    runpy.run_path(str(path), run_name="__main__")

    assert re.fullmatch(r"loss (-?\d+\.\d{4}|nan)\n", capsys.readouterr().out)


@pytest.mark.parametrize(("name", "fall"), [("digits", 4), ("digits_parallel", 3)])
def test_digits_learns_to_read(name: str, fall: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The classifier reads more than nine of ten digits that it was not trained on, and its loss falls."""
    runpy.run_path(str(ROOT / "sample_graphs" / f"{name}.py"), run_name="__main__")
    lines = re.findall(r"loss ([\d.]+)   test accuracy ([\d.]+)%", capsys.readouterr().out)
    losses = [float(loss) for loss, _ in lines]

    assert float(lines[-1][1]) > 90
    assert losses[-1] < losses[0] / fall


def test_nan_sample_is_nan() -> None:
    """The sample that promises a NaN keeps its promise."""
    assert math.isnan(build(ROOT / "sample_graphs" / "nan_from_log.py").item())


def test_deep_chain_is_deeper_than_python_recurses() -> None:
    """The chain has more operations than Python allows nested calls."""
    assert operations(build(ROOT / "sample_graphs" / "deep_chain.py")).total() > sys.getrecursionlimit()
