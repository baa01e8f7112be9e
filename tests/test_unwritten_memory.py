"""What stands in memory that nobody has written (``empty``, a layer's weights before they are drawn) tells nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from retrograd.engine import observe
from retrograd.inspect import diff
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.render.diff_text import lineup_lines


class LeavesNan:
    """Hears of new memory before anybody else, and leaves NaN there, as any memory may hold."""

    def allocated(self, t: Any) -> None:
        """A tensor was made of it."""
        if t._array.dtype.kind == "f":
            t._array.fill(np.nan)


@pytest.fixture(params=["retrograd", "torch"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Both engines, so that they leave NaN where nobody has written."""
    engine = pytest.importorskip(request.param)
    if request.param == "retrograd":
        filling = LeavesNan()
        observe.add(filling)
        assert engine.empty(3).isnan().all()
        yield engine
        observe.remove(filling)
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
    written = [event.data["range"] for event in recorded.events if event.op == "zero"]
    assert written == [[[0.0, 0.0]]] * 3


def test_it_is_no_finding_and_no_difference(engine: Any) -> None:
    """Two runs that differ only in what unwritten memory held are the same, and nothing in them is not finite."""
    one, other = program(engine), program(engine)
    found = diff(one, other)

    assert [finding.kind for finding in diagnose(one)] == []
    assert not found, [*lineup_lines(found)]
    assert found.nonfinite == []


def ranges_seen(recorded: Recording) -> list[float]:
    """Every bound of a result that was read."""
    return [bound for event in recorded.events for limits in event.data.get("range", []) if limits for bound in limits]


def test_views_of_it_are_not_read_until_they_are_written(engine: Any) -> None:
    """However a buffer is filled, by rows, indices, aliases or ``out=``, its NaN are never read."""
    torch = engine
    with recording(level="full") as recorded:
        rows = torch.empty(4, 3)
        for number in range(4):
            rows[number] = torch.ones(3)
            rows[: number + 1].clone()
        grown = torch.zeros(2)
        grown.resize_(6)
        grown[2:].view(2, 2)
        slots = torch.empty(5, 2)
        slots[torch.tensor([0, 2])] = torch.ones(2, 2)
        slots.t()
        slots[torch.tensor([False, True, False, True, True])] = 0.5
        halves = torch.empty(2, 4)
        halves[:, :2].copy_(torch.ones(2, 2))
        halves.view(8)
        halves.narrow(1, 2, 2).zero_()
        aliased = torch.empty(3, requires_grad=True)
        aliased.view(3, 1)
        aliased.detach().fill_(1.0)
        given = torch.empty(3)
        given.view(3, 1)
        torch.add(aliased.detach(), 1, out=given)
        whole = [one.reshape(-1) for one in (rows, slots, halves, aliased, given)]

    assert all(one.isfinite().all() for one in whole)
    seen = ranges_seen(recorded)
    assert seen
    assert not [bound for bound in seen if bound != bound]
    assert [event.data["range"] for event in recorded.events[-len(whole) :]] == [
        [[one.min().item(), one.max().item()]] for one in whole
    ]


def test_a_value_computed_from_it_is_read() -> None:
    """What a call computes of such memory is a result like any other, and its NaN is found."""
    torch: Any = pytest.importorskip("torch")
    torch.use_deterministic_algorithms(True)
    with recording(level="full") as recorded:
        made = torch.empty(3) + 1
    torch.use_deterministic_algorithms(False)

    assert made.isnan().all()
    assert recorded.events[-1].op == "add"
    assert all(bound != bound for bound in ranges_seen(recorded)[-2:])
