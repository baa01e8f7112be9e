"""Pictures in the direction of values also show what gets no gradient: inputs, frozen parameters, what was cut off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as rg
from retrograd.inspect.graphs.graph import ASIDE, IDLE, INPUT, Graph
from retrograd.inspect.recording.aside import Asides
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render import RenderOptions, renderer_for


@pytest.fixture(params=["retrograd", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    """Each engine."""
    return rg if request.param == "retrograd" else pytest.importorskip("torch")


def recorded(run: Callable[[], Any], steps: int = 1) -> Recording:
    """A recording of some steps of a program that returns its loss."""
    with rg.debug(level="full") as trace:
        for _ in range(steps):
            run().backward()
    return trace.recording


def beside(recording: Recording, step: int = -1) -> Graph:
    """The graph of a step with what ran beside it."""
    number = step % len(recording.graphs)
    return Asides(recording).beside(number, recording.graphs[number])


def named(graph: Graph, kind: str) -> list[str]:
    """What the nodes of a kind are called, sorted."""
    words = (
        graph.call[node] if kind == ASIDE else graph.name[node] for node, one in enumerate(graph.kind) if one == kind
    )
    return sorted(word or "" for word in words)


def cuts(graph: Graph, after: int) -> list[tuple[str, str]]:
    """Each cut whose origin is beside the graph: its word, and the call whose result was cut."""
    return [(cut.word, graph.call[cut.origin]) for cut in graph.cuts if cut.origin >= after]


def encoder(torch: Any) -> Any:
    """Two layers and a ReLU."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


@pytest.mark.parametrize("way", ["no_grad", "detach", "frozen"])
def test_an_encoder_without_gradients_stands_before_its_head(torch: Any, way: str) -> None:
    """However it was kept from training, its calls, parameters and input are there; a frozen one is not called cut."""
    body, head = encoder(torch), torch.nn.Linear(3, 2)
    if way == "frozen":
        for weight in body.parameters():
            weight.requires_grad_(False)

    def run() -> Any:
        picture = torch.ones(5, 4)
        if way == "no_grad":
            with torch.no_grad():
                found = body(picture)
        else:
            found = body(picture).detach() if way == "detach" else body(picture)
        return head(found).sum()

    recording = recorded(run)
    graph, count = beside(recording), len(recording.graphs[-1])

    assert named(graph, ASIDE) == ["Linear", "Linear", "ReLU"]
    assert named(graph, IDLE) == ["body.0.bias", "body.0.weight", "body.2.bias", "body.2.weight"]
    assert named(graph, INPUT) == ["picture"]
    assert cuts(graph, count) == ([] if way == "frozen" else [(way, "Linear")])
    svg = str(renderer_for("svg").render(recording, RenderOptions(view="both")))
    assert svg.count('class="dot idle"') == 4 + 1  # each on the card of its layer, and once in the legend
    assert graph.op[:count] == recording.graphs[-1].op


def test_frozen_weights_stand_on_the_card_that_uses_them(torch: Any) -> None:
    """An adapter beside a frozen layer: the layer's call is in the graph, its weights are grey lines on its card."""
    nn = torch.nn
    first, base, adapter = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    for weight in base.parameters():
        weight.requires_grad_(False)

    def run() -> Any:
        h = first(torch.ones(2, 4))
        return (base(h) + adapter(h)).sum()

    recording = recorded(run)
    svg = str(renderer_for("svg").render(recording, RenderOptions(view="both")))

    assert named(beside(recording), IDLE) == ["base.bias", "base.weight"]
    assert svg.count('class="dot idle"') == 2 + 1  # and once in the legend
    assert "4 parameters get a gradient, 2 are frozen" in svg
    assert "idle" not in str(renderer_for("svg").render(recording, RenderOptions())).split("</style>")[1]


def test_what_the_graph_has_is_not_drawn_twice(torch: Any) -> None:
    """Leaves that are no parameters, results of ``grad`` and what a layer keeps are not inputs; a target is one."""
    weight = torch.ones(4, 3, requires_grad=True)
    norm = torch.nn.BatchNorm1d(3)
    target = torch.zeros(5, 3)

    def run() -> Any:
        x = (torch.ones(5, 4) * 2).requires_grad_()
        out = norm(x @ weight)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        return ((out - target) ** 2).mean() + slope.pow(2).sum()

    graph = beside(recorded(run))

    assert named(graph, INPUT) == ["target"]
    assert named(graph, ASIDE) == named(graph, IDLE) == []


def test_a_call_that_changes_nothing_is_not_drawn(torch: Any) -> None:
    """What gives back its operand as it is neither ran without a gradient nor cuts one."""

    class Same(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.inner(x).to(x.dtype).contiguous().exp().to(x.dtype)

    model = Same()
    recording = recorded(lambda: model(torch.ones(2, 3)).sum())
    graph = beside(recording)

    assert named(graph, ASIDE) == []
    assert graph.cuts == []


def test_another_step_is_not_gone_back_into(torch: Any) -> None:
    """A state that is detached after each step comes in as an input: the steps before have pictures of their own."""
    cell = torch.nn.Linear(3, 3)
    kept = [torch.zeros(2, 3)]

    def run() -> Any:
        state = torch.tanh(cell(kept[0]))
        kept[0] = state.detach()
        return state.sum()

    recording = recorded(run, steps=3)

    assert named(beside(recording), ASIDE) == []
    assert len(named(beside(recording), INPUT)) == 1


def test_without_the_calls_of_forward_a_graph_stays_as_it_is(torch: Any) -> None:
    """At the level that records no calls there is nothing to add."""
    head = torch.nn.Linear(3, 2)
    with rg.debug(level="graph") as trace:
        head(torch.ones(4, 3)).sum().backward()

    assert beside(trace.recording) is trace.recording.graphs[0]
