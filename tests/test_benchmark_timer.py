"""``torch.utils.benchmark``: what is run how often, what is said of the times."""

from __future__ import annotations

import statistics

import pytest

import retrograd
from retrograd.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig


def test_a_statement_is_run_as_often_as_asked() -> None:
    """``timeit`` counts its executions, after two at least that do not count; ``torch`` is among the names."""
    seen: list[int] = []
    timed = Timer("seen.append(torch.ones(2).numel())", globals={"seen": seen}, label="a", sub_label="b").timeit(5)

    assert seen == [2] * 7
    assert (timed.number_per_run, len(timed.raw_times), timed.title, timed.as_row_name) == (5, 1, "a: b", "b")
    assert timed.median == timed.mean == timed.raw_times[0] / 5
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0").timeit(1)


def test_blocks_until_the_time_is_over() -> None:
    """Blocks add up to the time that was asked for, by a clock that the test moves."""
    now = [0.0]
    timer = Timer("now[0] += 0.001", timer=lambda: now[0], globals={"now": now})
    timed = timer.blocked_autorange(min_run_time=0.05)

    assert sum(timed.raw_times) >= 0.05 > sum(timed.raw_times[:-1])
    assert timed.median == pytest.approx(0.001)
    assert len(timer.adaptive_autorange(max_run_time=0.5).times) > 3


def test_figures_of_times() -> None:
    """Median, mean and spread are those of ``statistics``; equal tasks become one; units fit the size."""
    task = TaskSpec("x + 1", "pass")
    one, two = Measurement(2, [2.0, 4.0, 6.0, 20.0], task), Measurement(1, [3.0], task)
    low, _, high = statistics.quantiles([1.0, 2.0, 3.0, 10.0], n=4, method="inclusive")

    assert (one.times, one.median, one.mean, one.iqr) == ([1.0, 2.0, 3.0, 10.0], 2.5, 4.0, high - low)
    assert one.has_warnings
    assert not two.has_warnings
    assert [each.times for each in Measurement.merge([one, two])] == [[1.0, 2.0, 3.0, 10.0, 3.0]]
    assert [select_unit(t)[0] for t in (2e-10, 3e-8, 2e-6, 0.5, 3.0)] == ["ns", "ns", "us", "ms", "s"]
    assert (trim_sigfig(1234.5, 2), trim_sigfig(0.0456, 1)) == (1200.0, 0.05)


def test_tables_of_times() -> None:
    """Labels have tables, descriptions columns, statements rows; what was not measured is left empty."""

    def of(sub_label: str, description: str, time: float, threads: int = 1) -> Measurement:
        return Measurement(1, [time], TaskSpec("s", "pass", "products", sub_label, description, None, threads))

    shown = Compare([of("small", "old", 2e-6), of("small", "new", 1e-6), of("large", "new", 5e-4, 2)])
    lines = [line.split() for line in str(shown).splitlines() if line]

    assert "products" in lines[0]
    assert lines[1:5] == [["|", "old", "|", "new"], ["1", "threads:", "-" * len(lines[2][2])],
                          ["small", "|", "2.0", "|", "1.0"], ["2", "threads:", "-" * len(lines[4][2])]]  # fmt: skip
    assert lines[5:] == [["large", "|", "|", "500"], ["Times", "are", "in", "microseconds", "(us)."]]
    assert "retrograd" in retrograd.utils.benchmark.__name__
