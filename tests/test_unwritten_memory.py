"""What stands in memory that nobody has written (``empty``, a layer's weights before they are drawn) tells nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from retrograd.inspect import compare, recording
from retrograd.inspect.diagnose import diagnose
from retrograd.inspect.events import Recording
from retrograd.inspect.render.diff_text import lineup_lines


@pytest.fixture(params=["retrograd", "torch"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Both engines, PyTorch so that it leaves NaN where nobody has written, as memory may hold."""
    engine = pytest.importorskip(request.param)
    if request.param == "retrograd":
        yield engine
        return
    engine.use_deterministic_algorithms(True)
    assert engine.empty(3).isnan().all()
    yield engine
    engine.use_deterministic_algorithms(False)


def program(torch: Any) -> Recording:
    """A training step whose layers and buffers begin as memory that nobody has written."""
    torch.manual_seed(0)
    with recording(level="full") as recorded:
        left = torch.empty(5)
        net = torch.nn.Linear(3, 2)
        more = [torch.empty_like(left), left.new_empty(4)]
        loss = net(torch.ones(4, 3)).pow(2).sum()
        loss.backward()
        for one in (left, *more):
            one.zero_()
    return recorded


def made_by_allocating(recorded: Recording) -> list[Any]:
    """The figures of every result that is memory nobody wrote."""
    named = ("empty", "empty_like", "new_empty")
    return [event.data.get("range") for event in recorded.events if event.op in named]


def test_no_figures_of_it(engine: Any) -> None:
    """Ranges and sums are noted of what was written, and of nothing else."""
    recorded = program(engine)

    assert [found or [None] for found in made_by_allocating(recorded)][:3] == [[None]] * 3
    written = [event.data["range"] for event in recorded.events if event.op == "zero_"]
    assert written == [[[0.0, 0.0]]] * 3


def test_it_is_no_finding_and_no_difference(engine: Any) -> None:
    """Two runs that differ only in what unwritten memory held are the same, and nothing in them is not finite."""
    one, other = program(engine), program(engine)
    found = compare(one, other)

    assert [finding.kind for finding in diagnose(one)] == []
    assert not found, [*lineup_lines(found)]
    assert found.nonfinite == []
