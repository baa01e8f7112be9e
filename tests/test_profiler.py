"""``torch.autograd.profiler`` and ``torch.profiler``: which events there are, how they nest, what is asked of them."""

from __future__ import annotations

import importlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from both_engines import differential, raises, warned

import retrograd
import retrograd.autograd.profiler as profiler
import retrograd.profiler as steps


def profilers(torch: Any) -> Any:
    """The module of one engine."""
    return importlib.import_module(f"{torch.__name__}.autograd.profiler")


@differential
def test_events_of_a_step(torch: Any) -> Any:
    """Operators of forward, nodes of backward with the numbers of their operators, and named stretches."""
    x = torch.ones(3, requires_grad=True)
    with profilers(torch).profile(use_cpu=True) as p:
        with profilers(torch).record_function("forward"):
            y = (x * 2).exp()
        y.sum().backward()
    names = [e.name for e in p.function_events]
    nodes = [n for n in names if "Backward" in n or "Accumulate" in n]
    forward = {e.name: e for e in p.function_events if e.name in ("aten::mul", "aten::exp", "forward")}
    seconds = {e.name: e for e in p.function_events if e.name in ("MulBackward0", "ExpBackward0")}
    first = next(e for e in p.function_events if e.name == "aten::mul")
    return [
        nodes, sorted(forward), first.cpu_parent.name, first.sequence_nr == seconds["MulBackward0"].sequence_nr,
        seconds["ExpBackward0"].cpu_parent.name, forward["forward"].cpu_parent, type(first.thread).__name__,
        forward["forward"].cpu_time_total >= forward["aten::mul"].cpu_time_total,
    ]  # fmt: skip


@differential
def test_questions_to_events(torch: Any) -> Any:
    """Sums by name and shape, order, table, and instances that are unfinished, switched off or entered twice."""
    profile = profilers(torch).profile
    x, y = torch.ones(2, 3), torch.ones(4)
    with profile(record_shapes=True, use_cpu=True) as p:
        for _ in range(3):
            x + 1
        y + 1
        unfinished = str(p)
    adds = {str(a.input_shapes): a.count for a in p.key_averages(group_by_input_shape=True) if a.key == "aten::add"}
    (total,) = [a for a in p.key_averages() if a.key == "aten::add"]
    with profile(enabled=False) as off:
        x + 1
    table = p.key_averages().table(sort_by="self_cpu_time_total")
    shortest = p.key_averages().table(row_limit=1)  # of which row depends on who had to wait for a processor
    return [
        unfinished, sorted(adds.values()), total.count, total.key, off, "aten::add" in table, shortest.count("aten::"),
        "Self CPU time total" in table, raises("not reentrant", p.__enter__), p.total_average().key,
        p.self_cpu_time_total > 0, len({e.id for e in p.function_events}) == len(p.function_events),
    ]  # fmt: skip


@differential
def test_schedules(torch: Any) -> Any:
    """What is done in which step."""
    schedule = importlib.import_module(f"{torch.__name__}.profiler").schedule
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    return [
        [plan(i).name for i in range(12)], [schedule(wait=0, warmup=1, active=2)(i).name for i in range(5)],
        warned("skew profiler results", schedule, wait=0, warmup=0, active=2)[0],
        raises("", plan, -1), raises("", schedule, wait=0, warmup=0, active=0),
    ]  # fmt: skip


def test_cycles_are_handed_over() -> None:
    """Only active steps are measured, and each cycle once."""
    seen: list[tuple[int, int]] = []

    def ready(p: Any) -> None:
        seen.append((p.step_num, sum(e.count for e in p.key_averages() if e.key == "aten::add")))

    plan = steps.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with steps.profile(activities=[steps.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as p:
        for _ in range(11):
            retrograd.ones(1).add(1)
            p.step()

    assert seen == [(5, 2), (9, 2)]  # the step that begins


def test_trace_is_json(tmp_path: Path) -> None:
    """The written trace is read back: every event with its time and thread."""
    with profiler.profile() as p:
        retrograd.ones(2).add(1)
    p.export_chrome_trace(str(tmp_path / "trace.json"))

    (entry,) = [e for e in json.loads((tmp_path / "trace.json").read_text()) if e["name"] == "aten::add"]
    assert entry["ph"] == "X"
    assert entry["dur"] > 0


def test_threads_do_not_nest() -> None:
    """Events of another thread are not inside a stretch of this one, and functions may be decorated."""

    @profiler.record_function("work")
    def work() -> None:
        retrograd.ones(2).mul(2)

    with profiler.profile() as p, profiler.record_function("main"):
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    first, second = (e for e in p.function_events or [] if e.name == "work")
    assert first.cpu_parent is not None
    assert first.cpu_parent.name == "main"
    assert second.cpu_parent is None
    assert [c.name for c in second.cpu_children] == ["aten::mul"]


def test_an_error_ends_the_measurement() -> None:
    """After an exception nothing observes any more, and what was open is passed over."""
    with pytest.raises(ZeroDivisionError), profiler.profile() as p, profiler.record_function("broken"):
        1 / 0
    assert [e.name for e in p.function_events or []] == ["broken"]
    assert not retrograd.engine.observe.observers  # type: ignore[attr-defined]


def test_whether_a_profiler_measures():
    """``autograd._profiler_enabled`` is true within ``profile``, not before and after."""
    enabled = retrograd.autograd._profiler_enabled
    with retrograd.autograd.profiler.profile():
        within = enabled()
    assert (within, enabled(), retrograd.autograd.profiler.record_function("a").run_callbacks_on_exit) == (
        True,
        False,
        True,
    )


@differential
def test_number_of_the_step_when_a_trace_is_ready(torch):
    """The handler is called when the next step has begun."""
    profiler = importlib.import_module(f"{torch.__name__}.profiler")
    numbers: list[int] = []
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=1, repeat=1),
        on_trace_ready=lambda p: numbers.append(p.step_num),
    ) as measured:
        for _ in range(5):
            torch.ones(1)
            measured.step()
    return numbers
