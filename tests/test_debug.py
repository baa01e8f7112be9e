"""``debug``: a block of a script whose backward runs can be printed and saved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.errors import NoGraphError, UnknownFormatError, UsageError


def step(factor=2.0):
    """One forward and backward."""
    weight = rg.ones(3, requires_grad=True)
    loss = (weight * factor).sum()
    loss.backward()
    return weight.grad.tolist()


def test_block():
    """The block's graphs, the last of them, and its events."""
    with rg.debug() as trace:
        step()
        step()

    assert [graph.label for graph in trace.graphs] == ["backward 0", "backward 1"]
    assert trace.graph is trace.graphs[1]
    assert trace.graph.root_names == ["loss"]
    assert "weight" in trace.graph.name
    runs = [event.kind for event in trace.recording.events if event.kind.startswith("backward")]
    assert runs == ["backward", "backward-end"] * 2
    assert repr(trace) == "<retrograd.debug: 2 backward graphs>"
    assert repr(trace.graph) == "<Graph 'backward 1' of retrograd: 3 nodes, 2 edges>"
    assert repr(trace.recording) == "<Recording at level full: 2 backward passes, 14 events>"


def test_torch_block():
    """The same block works for PyTorch."""
    torch = pytest.importorskip("torch")
    with rg.debug() as trace:
        weight = torch.ones(3, requires_grad=True)
        loss = (weight * 2).sum()
        loss.backward()

    assert (trace.graph.engine, trace.graph.name) == ("torch", ["loss", None, "weight"])


def test_sources_are_kept():
    """The text of every line that the graph mentions is in the recording."""
    with rg.debug() as trace:
        step()
    lines = {line for line in trace.graph.source if line is not None}

    assert lines
    assert all("factor" in trace.recording.sources[line.file][line.line] for line in lines)


def test_print(capsys):
    """The last graph is printed as a tree with names."""
    with rg.debug() as trace:
        step()
    trace.show()
    printed = capsys.readouterr().out

    assert "mul n" in printed
    assert "weight" in printed


def test_networkx():
    """The graph is there for networkx."""
    with rg.debug() as trace:
        step()
    graph = trace.graph.to_networkx()

    assert [data["op"] for _, data in graph.nodes(data=True)] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]


@pytest.mark.parametrize("suffix", ["svg", "dot", "json", "txt", "mmd", "html"])
def test_save(tmp_path, suffix):
    """The last graph is saved in the format of the suffix."""
    with rg.debug() as trace:
        step()
    path = tmp_path / f"step.{suffix}"
    trace.save(path)

    text = path.read_text(encoding="utf-8")
    assert "weight" in text
    if suffix == "json":
        assert json.loads(text)["schema"] == 1


def test_save_unknown_format(tmp_path):
    """An unknown suffix is refused and nothing is written."""
    with rg.debug() as trace:
        step()
    with pytest.raises(UnknownFormatError):
        trace.save(tmp_path / "step.xyz")

    assert list(tmp_path.iterdir()) == []


def test_no_backward():
    """Without a backward run the graph is a clear error, and display does not raise."""
    with rg.debug() as trace:
        rg.ones(3)

    assert trace.graphs == []
    with pytest.raises(NoGraphError, match=r"Call backward\(\) inside the block"):
        trace.graph
    assert trace._repr_mimebundle_()["text/plain"] == "<retrograd.debug: 0 backward graphs>"


def test_notebook():
    """A notebook gets text and a drawing."""
    with rg.debug() as trace:
        step()
    bundle = trace._repr_mimebundle_()

    assert "weight" in bundle["text/plain"]
    assert "<svg" in bundle["image/svg+xml"]


def test_exception():
    """An exception goes through as it is, and what was recorded before it is kept."""
    error = ValueError("mine")

    def fail():
        step()
        raise error

    with pytest.raises(ValueError) as caught, rg.debug() as trace:
        fail()

    assert caught.value is error
    assert len(trace.graphs) == 1
    assert (trace.recording.events[-1].kind, trace.recording.events[-1].data["message"]) == ("error", "mine")


def test_exit_and_interrupt_pass():
    """SystemExit and KeyboardInterrupt are not swallowed either."""
    for error in (SystemExit(3), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, rg.debug():
            raise error
        assert caught.value is error


def test_decorator():
    """As a decorator it records each call anew and returns what the function returns."""
    trace = rg.debug()
    watched = trace(step)

    assert watched(3.0) == [3.0, 3.0, 3.0]
    assert watched(4.0) == [4.0, 4.0, 4.0]
    assert len(trace.graphs) == 1


def test_nesting():
    """Blocks nest; the inner one's runs are in both; one object may be entered twice."""
    with rg.debug() as outer:
        step()
        with rg.debug() as inner:
            step()
        step()
    assert (len(outer.graphs), len(inner.graphs)) == (3, 1)

    with inner, inner:
        step()
    assert len(inner.graphs) == 1


def test_per_thread():
    """Other threads' runs are not in the block, also where both have one."""
    graphs = []

    def work():
        with rg.debug() as theirs:
            step()
        graphs.append(len(theirs.graphs))

    with rg.debug() as trace:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert (len(trace.graphs), graphs) == (0, [1])


def test_level_is_recorded():
    """What was asked for is noted, and a level there is not is refused."""
    with rg.debug(level="full") as trace:
        step()

    assert trace.recording.level == "full"
    with pytest.raises(UsageError, match=r"no level 'all'.*graph, backward, full"), rg.debug(level="all"):
        pass


@pytest.mark.parametrize("stand_in", ["mock.MagicMock()", "types.ModuleType('torch')", "rg"])
def test_what_only_goes_by_the_name_of_torch(tmp_path, stand_in):
    """Programs that import torch may get our engine, or in a test of theirs a mock; neither is watched as PyTorch."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, types\nfrom unittest import mock\nimport retrograd as rg\n"
        f"sys.modules['torch'] = {stand_in}\n"
        "with rg.debug() as trace, rg.breakpoint('zero'):\n"
        "    w = rg.ones(2, requires_grad=True)\n"
        "    (w * 2.0).sum().backward()\n"
        "print(trace.graph.op, rg.why(w, trace).state)\n"
    )
    root = str(Path(rg.__file__).parent.parent)
    ran = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True
    )

    assert ran.stderr == ""
    assert ran.stdout == "['SumBackward0', 'MulBackward0', 'AccumulateGrad'] fine\n"
