"""A program that differentiates nothing is drawn by its calls: the last forward pass, with what it took."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import retrograd
from retrograd import debug
from retrograd.inspect.graphs.graph import FORWARD_ONLY
from retrograd.inspect.recording.forward_graph import forward_graph
from retrograd.inspect.render import RenderOptions, renderer_for


@pytest.fixture(params=["retrograd", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """Each engine."""
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


def two_heads(torch: Any) -> debug:
    """Three passes through a network with two heads and a skip connection, of which the last is drawn."""
    body, one, other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2), torch.nn.Linear(4, 3)
    with debug() as trace, torch.no_grad():
        for _ in range(3):
            x = torch.ones(5, 4)
            h = torch.relu(body(x)) + x
            h.mul_(2)
            first, second = one(h), other(h)
    assert first.shape[1] + second.shape[1] == 5
    return trace


def test_the_last_pass_is_a_graph(torch: Any) -> None:
    """Calls are nodes once, parameters leaves, and edges lead to what made the operand, writes in place included."""
    graph = forward_graph(two_heads(torch).recording)

    assert graph is not None
    assert graph.label == FORWARD_ONLY
    assert sorted(graph.op) == sorted(["linear"] * 3 + ["relu", "add", "mul", "input"] + ["parameter"] * 6)
    assert sorted(graph.op[root] for root in graph.roots) == ["linear", "linear"]
    takes = {(graph.op[source], graph.op[target]) for source, target, *_ in graph.edges()}
    assert {("linear", "mul"), ("mul", "add"), ("add", "relu"), ("add", "input"), ("relu", "linear")} <= takes
    assert {graph.name[node] for node, op in enumerate(graph.op) if op == "parameter"} >= {"body.weight", "one.bias"}


def test_it_is_drawn_the_way_values_flow(torch: Any, tmp_path: Path) -> None:
    """Pictures and the page say that nothing was differentiated; the file of the recording stays as it is."""
    trace = two_heads(torch)
    for suffix in ("svg", "html", "json"):
        trace.save(tmp_path / f"out.{suffix}")
    svg = (tmp_path / "out.svg").read_text()

    assert FORWARD_ONLY in svg
    assert "direction of values" in svg
    assert "backward starts here" not in svg
    assert "gradient" not in svg
    assert FORWARD_ONLY in (tmp_path / "out.html").read_text()
    assert FORWARD_ONLY in trace.text()
    assert '"snapshots": []' in (tmp_path / "out.json").read_text().replace('"snapshots":[]', '"snapshots": []')


def test_nothing_to_draw() -> None:
    """A recording without calls has no such graph."""
    with debug() as trace:
        pass

    assert forward_graph(trace.recording) is None


def test_writes_and_views_are_marked(torch: Any) -> None:
    """A card says that its call writes into memory that others see, or gives a view."""
    w = torch.ones(2, 3, requires_grad=True)
    with debug() as trace:
        h = w * 2
        h.add_(1)
        h[0] = 3.0
        (h.transpose(0, 1) * 2).sum().backward()

    svg = str(trace._repr_mimebundle_()["image/svg+xml"])
    assert svg.count("writes in place") == 2
    assert ">view<" not in svg
    assert ">view<" in str(renderer_for("svg").render(trace.recording, RenderOptions(fold=())))
