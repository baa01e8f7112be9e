"""What is kept for backward over time: memory counted once, held from the first node on, let go by backward."""

from __future__ import annotations

import json
import linecache

import pytest

import retrograd as rg
from retrograd.inspect.recording.memory_line import memory_line, retained_runs, thinned
from retrograd.inspect.recording.saved_tensors import saved_tensors
from retrograd.inspect.render import RenderOptions
from retrograd.inspect.render.console_page import page_text
from retrograd.inspect.render.stats_tables import chosen_statistics, stats_json, stats_parts

SIZE = 4 * 50 * 50


@pytest.fixture(params=["retrograd", "torch"])
def engine(request):
    """Both engines, one after the other."""
    return rg if request.param == "retrograd" else pytest.importorskip("torch")


def recorded(engine, level: str = "backward", **asked: object):
    """A recording in which `sin` keeps what `exp` keeps already."""
    with rg.debug(level=level) as trace:
        w = engine.zeros(50, 50, requires_grad=True)
        a = w.exp()
        loss = a.sin().cos().sum()
        loss.backward(**asked)
    return trace.recording


@pytest.mark.parametrize("level", ["backward", "full"])
def test_memory_is_held_from_the_first_node_to_the_last_run(engine, level: str) -> None:
    """Two results of 10 kB are kept, one of them by two nodes; each is let go when its last node has run."""
    recording = recorded(engine, level)
    line = memory_line(recording.graphs[0])

    assert line is not None
    assert [held // SIZE for held in line.held[: line.forward]] == [1, 1, 2, 2]
    assert [held // SIZE for held in line.held[line.forward :]] == [2, 1, 1, 0]
    assert (line.most, line.peak, line.nodes[line.peak]) == (2 * SIZE, 2, 1)
    assert [(one.held, one.what.startswith("test_memory_line.py:")) for one in line.lines] == [(SIZE, True)] * 2
    assert [(one.what, one.share) for one in line.modules] == [("recorded()", 1.0)]


def test_a_graph_that_is_kept_lets_nothing_go(engine) -> None:
    """With retain_graph the line ends at its peak, and the table says so; JSON has the same points."""
    recording = recorded(engine, retain_graph=True)
    (found,) = chosen_statistics(recording, RenderOptions())
    (plain,) = json.loads(stats_json(recording, [found]))["graphs"]

    assert retained_runs(recording) == {0}
    assert plain["memory"]["backward"] == []
    assert [held for _, held in plain["memory"]["forward"]] == [SIZE, SIZE, 2 * SIZE, 2 * SIZE]
    assert plain["memory"]["peak"]["bytes"] == 2 * SIZE
    assert "nothing is let go" in page_text(stats_parts([found]))


def test_a_step_like_the_one_before_keeps_the_same(engine) -> None:
    """Of a loop whose graphs are alike each has its line, though only the first ones are walked."""
    with rg.debug(level="backward") as trace:
        w = engine.zeros(50, 50, requires_grad=True)
        for _ in range(5):
            w.exp().sin().sum().backward()

    lines = [memory_line(snapshot) for snapshot in trace.recording.graphs]
    assert [line is not None and line.most for line in lines] == [SIZE] * 5


def test_no_peak_is_lost_in_a_thinned_line() -> None:
    """A long line is drawn by the largest value of each stretch."""
    line = [0] * 1000
    line[537] = 7

    assert len(thinned(line, 32)) == 32
    assert max(thinned(line, 32)) == 7
    assert thinned([1, 2], 32) == [1, 2]


def test_saved_tensors_are_told_with_their_values(engine, tmp_path) -> None:
    """Name, shape, line and range of values are those of the tensor when it was kept, after a write in place."""
    with rg.debug() as trace:
        w = engine.tensor([[0.5, -1.5, 2.0]], requires_grad=True)
        a = w.exp()
        b = w * 2
        b.add_(1)
        c = b.sin()
        (a * c).sum().backward()
    recording = trace.recording
    found = {one.name: one for kept in saved_tensors(recording, 0).values() for one in kept}

    assert found.keys() == {"a", "b", "c"}
    for name, tensor in (("a", a), ("b", b), ("c", c)):
        one = found[name]
        assert (one.shape, one.dtype, one.bytes) == ((1, 3), "float32", 12)
        assert (one.low, one.high) == pytest.approx((tensor.min().item(), tensor.max().item()))
        assert one.source is not None
        assert linecache.getline(one.source.file, one.source.line).strip().startswith(f"{name} = ")

    statistics = chosen_statistics(recording, RenderOptions(), saved=True)
    plain = json.loads(stats_json(recording, statistics))["graphs"][0]["saved"]
    recording.save(tmp_path / "out.html")
    range_of_b = f"{b.min().item():.3g} to {b.max().item():.3g}"
    assert range_of_b in page_text(stats_parts(statistics), width=120)
    assert range_of_b in (tmp_path / "out.html").read_text()
    assert {one["name"] for one in plain} == found.keys()


def test_saved_tensors_that_were_not_recorded_are_asked_for(engine) -> None:
    """Below level full nothing is known of them, and the tables say how to get it."""
    (one,) = chosen_statistics(recorded(engine), RenderOptions(), saved=True)

    assert one.saved == ()
    assert "`--level full`" in one.missing[-1]
