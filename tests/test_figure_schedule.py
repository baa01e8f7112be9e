"""Which figures of gradients are taken in which backward run, and that none that a check lives on is ever missing."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.inspect.recording.figure_schedule import AT_FIRST, EVERY, FigureSchedule
from retrograd.inspect.sources import array_values

ROOT = Path(__file__).resolve().parent.parent
SAMPLED = ("grad_min", "grad_max", "grad_mean", "zero_share", "out_zero_share")
ALWAYS = ("grad_norm", "nan_count", "inf_count", "out_norm", "out_nan_count", "out_inf_count", "out_tiny_share")
RUNS = 2 * EVERY + 1


def trained(scale_of_run=lambda run: 1.0, **options):
    """The trace of a few steps, and the gradient of the weight in each."""
    rg.manual_seed(0)
    w = rg.randn(5, 4, requires_grad=True)
    x = rg.randn(6, 5)
    gradients = []
    with rg.debug(**options) as trace:
        for run in range(RUNS):
            w.grad = None
            loss = (rg.relu(x @ w) * scale_of_run(run)).sum()
            loss.backward()
            gradients.append(w.grad.numpy().copy())
    return trace, gradients


def column(trace, name, run):
    """One measure of the weight in one run."""
    snapshot = trace.graphs[run]
    return snapshot.measures[name][snapshot.name.index("w")]


def test_schedule():
    """The first runs and every seventeenth have all figures; a program may ask for all of them."""
    schedule = FigureSchedule()

    assert [run for run in range(40) if schedule.takes_all(run)] == [0, 1, 17, 34]
    assert all(FigureSchedule(always=True).takes_all(run) for run in range(40))


def test_the_documents_tell_the_schedule() -> None:
    """docs/usage.md names the runs in which every figure is taken, wherever it speaks of them."""
    told = re.findall(r"first (\d+) and every\s(\d+)th", (ROOT / "docs" / "usage.md").read_text(encoding="utf-8"))

    assert len(told) == 2
    assert set(told) == {(str(AT_FIRST), str(EVERY))}


@pytest.mark.parametrize("several", [2, 3, 4, 6])
def test_every_run_of_a_step_gets_its_turn(several):
    """Where a step has several backward runs, each of them has all figures now and then."""
    schedule = FigureSchedule()

    assert {run % several for run in range(AT_FIRST, 200) if schedule.takes_all(run)} == set(range(several))


@pytest.mark.parametrize("level", ["backward", "full"])
def test_what_is_taken_when(level):
    """Norms and numbers of NaN and infinities are those of the gradient in every run, the rest on schedule."""
    trace, gradients = trained(level=level)

    for run, gradient in enumerate(gradients):
        assert column(trace, "grad_norm", run) == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-5)
        assert all(None not in _ran(trace.graphs[run], name) for name in ALWAYS)
        missing = [name for name in SAMPLED if column(trace, name, run) is None and not name.startswith("out")]
        whole = run < AT_FIRST or run % EVERY == 0
        assert missing == ([] if whole else list(SAMPLED[:4]))
        if whole:
            assert column(trace, "grad_max", run) == pytest.approx(float(gradient.max()))


def _ran(snapshot, name):
    """A measure of the nodes that ran and took or passed on something."""
    other = "out_norm" if name.startswith("out") else "grad_norm"
    return [
        value
        for value, there in zip(snapshot.measures[name], snapshot.measures[other], strict=True)
        if there is not None
    ]


def test_all_figures():
    """A program that asks for all figures gets them in every run."""
    trace, gradients = trained(all_figures=True)

    for run, gradient in enumerate(gradients):
        assert column(trace, "grad_mean", run) == pytest.approx(float(gradient.mean()), rel=1e-4)


def test_a_figure_that_only_one_run_took_is_no_difference():
    """Comparing a run on the schedule with one that takes all says nothing of what was not taken, and all the rest."""
    some, whole = trained(level="backward")[0], trained(level="backward", all_figures=True)[0]

    assert column(some, "grad_min", AT_FIRST) is None
    assert not rg.inspect.diff(some, whole)
    assert not rg.inspect.diff(whole, some)

    other = trained(lambda run: 1.0 + (run == AT_FIRST), level="backward", all_figures=True)[0]
    found = rg.inspect.diff(some, other)
    assert found.step == AT_FIRST
    told = {change.what for node in found.graphs.nodes for change in node.changes}
    assert "grad_norm" in told
    assert not told & set(SAMPLED)


@pytest.mark.parametrize(("scale", "norm"), [(math.nan, math.nan), (math.inf, None), (0.0, 0.0), (1e30, None)])
def test_what_is_no_ordinary_number_is_looked_at_in_any_run(scale, norm):
    """NaN, infinities, zeros and very large entries have all figures in a run that is not on the schedule."""
    odd = AT_FIRST + 3
    trace, gradients = trained(lambda run: scale if run == odd else 1.0)
    found = {name: column(trace, name, odd) for name in (*ALWAYS[:3], "zero_share")}

    assert found["nan_count"] == np.isnan(gradients[odd]).sum()
    assert found["inf_count"] == np.isinf(gradients[odd]).sum()
    assert found["zero_share"] == pytest.approx((gradients[odd] == 0).mean())
    if norm is not None:
        assert found["grad_norm"] == pytest.approx(norm, nan_ok=True)
    assert column(trace, "zero_share", odd + 1) is None


def test_a_dead_layer_is_found_between_the_runs_of_the_schedule():
    """A relu all of whose units go off in a run that is not on the schedule is told as in any other."""
    rg.manual_seed(0)
    w, b = rg.randn(5, 4, requires_grad=True), rg.zeros(4, requires_grad=True)
    v, x = rg.randn(4, 1, requires_grad=True), rg.randn(6, 5)
    with rg.debug() as trace:
        for run in range(AT_FIRST + 2):
            w.grad = b.grad = v.grad = None
            if run == AT_FIRST + 1:
                with rg.no_grad():
                    b -= 100.0
            h = rg.relu(x @ w + b)
            (h @ v - 1.0).pow(2).mean().backward()

    assert "dead-relu" in [finding.kind for finding in trace.findings]


def test_what_was_not_taken_is_saved_as_null(tmp_path):
    """In a file what was not taken is null, and reads back as None."""
    trace, _ = trained(level="backward")
    trace.save(tmp_path / "run.json", step="all")
    plain = json.loads((tmp_path / "run.json").read_text())

    assert set(plain["snapshots"][AT_FIRST]["measures"]["grad_mean"]) == {None}
    assert None not in plain["snapshots"][0]["measures"]["nan_count"]


def test_large_gradients_are_looked_at_without_a_warning():
    """Squares that overflow are no business of the program: no warning of NumPy's, with hooks or without."""
    w = rg.ones(3, requires_grad=True)
    with rg.debug() as trace, np.errstate(all="raise"):
        for _ in range(AT_FIRST + 1):
            w.grad = None
            (w * 1e30).sum().backward()
        w.register_hook(lambda g: g)
        (w * 1e30).sum().backward()

    assert column(trace, "grad_norm", -1) == pytest.approx(math.sqrt(3) * 1e30)
    assert column(trace, "grad_norm", -2) == pytest.approx(math.sqrt(3) * 1e30)
    assert not [event for event in trace.recording.events if event.kind == "problem"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,), (4, 5), (300, 1001)])
def test_ordinary_norm(dtype, shape):
    """It is NumPy's norm of ordinary numbers, whatever their layout, and None of any others."""
    array = np.random.default_rng(0).standard_normal(shape).astype(dtype)

    assert array_values.ordinary_norm(array) == pytest.approx(float(np.linalg.norm(array)), rel=1e-5)
    assert array_values.ordinary_norm(array.T) == pytest.approx(float(np.linalg.norm(array)), rel=1e-5)
    for odd in (np.nan, np.inf, -np.inf, 1e25):
        array.ravel()[-1:] = odd
        with np.errstate(all="ignore"):
            assert array_values.ordinary_norm(array) is None
    assert array_values.ordinary_norm(array * 0) is None
    assert array_values.ordinary_norm(np.ones(3, np.float16)) is None


def calls_of(trace, op):
    """The calls of an operator, in order."""
    return [event for event in trace.recording.events if event.op == op and event.kind == "operation"]


def test_ranges_of_calls_are_taken_on_schedule_and_their_sums_always():
    """The sum of what a call gives is that of its values in every step, its range in steps of the schedule."""
    rg.manual_seed(0)
    w, x = rg.randn(30, 40, requires_grad=True), rg.randn(60, 30)
    sums = []
    with rg.debug() as trace:
        for _ in range(EVERY + 1):
            h = x @ w
            sums.append(h.sum().item())
            rg.tanh(h).sum().backward()

    products = calls_of(trace, "matmul")
    assert [event.data["checksum"][0] for event in products] == pytest.approx(sums, rel=1e-3, abs=1e-3)
    ranged = [run for run, event in enumerate(products) if event.data["range"] != [None]]
    assert ranged == [0, 1, EVERY]
    assert all(event.data["range"] != [None] for event in calls_of(trace, "tanh"))


@pytest.mark.parametrize("shape", [(40,), (60, 70), (300, 1001)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sum_of_ordinary(dtype, shape):
    """It is the very sum that is taken with the range, and None where the range must be looked at."""
    array = np.random.default_rng(0).standard_normal(shape).astype(dtype)

    for one in (array, array.T):
        assert array_values.sum_of_ordinary(one) == array_values.range_and_sum(one)[1]
    for odd in (np.nan, np.inf, -np.inf):
        array.ravel()[-1:] = odd
        with np.errstate(all="raise"):
            assert array_values.sum_of_ordinary(array) is None
    assert array_values.sum_of_ordinary(np.zeros(shape, dtype)) is None


def test_what_is_not_finite_has_a_range_in_any_step():
    """A call whose result first overflows in a step that is not on the schedule is told with what it was given."""
    rg.manual_seed(0)
    w, x = rg.randn(30, 40, requires_grad=True), rg.randn(60, 30)
    with rg.debug() as trace:
        for run in range(AT_FIRST + 3):
            h = x @ w
            loss = rg.exp(h + (200.0 if run == AT_FIRST + 1 else 0.0)).mean()
            loss.backward()

    finding = trace.findings[0]
    assert (finding.kind, finding.op) == ("nan-origin", "exp")
    assert "between" in finding.message
