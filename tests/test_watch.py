"""``rg.watch``: figures of each step, bounded memory, triggers, steps that are run again, files."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from side_by_side import Outcome, environment
from side_by_side import retrograd as command

import retrograd
from retrograd.errors import RecordingError
from retrograd.inspect.histories.comparison import differences
from retrograd.inspect.histories.history import Column, History
from retrograd.inspect.histories.watched_file import decoded, encoded, load_run
from retrograd.inspect.training.run import TrainingWentWrong, watch

torch = pytest.importorskip("torch")
ENGINES = {"torch": torch, "retrograd": retrograd}


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Any:
    """One of the two engines, under the name that programs give it."""
    return ENGINES[request.param]


def train(engine: Any, steps: int, spoil: int = -1) -> tuple[Any, list[float]]:
    """Train a small network; in one step the loss takes a root of zero."""
    engine.manual_seed(0)
    net = engine.nn.Sequential(
        engine.nn.Linear(4, 6), engine.nn.Tanh(), engine.nn.Dropout(0.25), engine.nn.Linear(6, 1)
    )
    optimizer = engine.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        x = engine.randn(8, 4)
        optimizer.zero_grad()
        out = net(x)
        loss = (out - x.sum(1, keepdim=True)).pow(2).mean()
        if step == spoil:
            loss = loss + (out - out.detach()).pow(2).sum().sqrt()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, losses


def test_figures_are_those_of_the_training(engine: Any) -> None:
    """Losses and norms are what the program itself computes of them, and watching changes no bit of the weights."""
    alone, losses = train(engine, 12)
    alone = [one.detach().numpy() for one in alone.parameters()]
    with watch() as run:
        net, watched = train(engine, 12)

    weights = [p.detach().numpy() for p in net.parameters()]
    assert watched == losses
    assert all((a == b).all() for a, b in zip(weights, alone, strict=True))
    assert run.problems == 0
    curves = run.curves
    np.testing.assert_array_equal(curves.first, np.arange(1, 13))
    np.testing.assert_allclose(curves.of("loss"), losses, rtol=1e-6)
    np.testing.assert_allclose(curves.of("weight", "0.weight")[-1], np.linalg.norm(weights[0]), rtol=1e-5)
    gradients = [p.grad.numpy() for p in net.parameters()]
    np.testing.assert_allclose(curves.of("gradient", "3.weight")[-1], np.linalg.norm(gradients[2]), rtol=1e-5)
    assert curves.of("rate")[0] == np.float32(0.01)
    assert (curves.of("update", "0.bias") > 0).all()


def test_nothing_stays_behind(engine: Any) -> None:
    """After a run hooks, patches and signal handlers are what they were."""
    before = (torch.autograd._engine_run_backward, torch.nn.utils.clip_grad._clip_grads_with_norm_)
    observers = len(retrograd.engine.observe.observers)
    with watch():
        train(engine, 2)

    assert (torch.autograd._engine_run_backward, torch.nn.utils.clip_grad._clip_grads_with_norm_) == before
    assert len(retrograd.engine.observe.observers) == observers
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_failing_step_is_run_again_with_the_same_numbers(engine: Any, tmp_path: Path, capfd: Any) -> None:
    """The loss of the repeated step is equal to the bit, its cause is named at its line, the training goes on."""
    _, losses = train(engine, 80, spoil=60)
    with watch(file=tmp_path / "run.json", replay=True) as run:
        _, watched = train(engine, 80, spoil=60)

    (happened,) = run.happened
    again = happened["again"]
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if ".sum().sqrt()" in text)
    assert repr(watched) == repr(losses)
    assert happened["trigger"] == "nonfinite"
    assert happened["step"] == 61
    assert again.get("equal") is True, again
    assert again["loss"] == repr(losses[60])
    assert ("nan-origin", line) in {(one["kind"], one["line"]) for one in again["findings"]}
    assert (tmp_path / "run.step61.json").exists()
    assert "the same to the bit" in capfd.readouterr().err


def test_history_is_bounded_and_drops_nothing() -> None:
    """Of 100,000 steps few rows are left, which cover all of them, with the extremes that there were."""
    history = History(100_000)
    place = history.places([Column("loss")])[0]
    values = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    values[777] = 50.0
    for step, value in enumerate(values, 1):
        row = np.full(1, np.nan, np.float32)
        row[place] = value
        history.append(step, row)
    curves = history.curves()

    assert len(curves) < 8_000
    assert curves.first[0] == 1
    assert curves.last[-1] == 100_000
    assert (curves.first[1:] == curves.last[:-1] + 1).all()
    assert curves.greatest.max() == 50.0
    assert curves.least.min() == values.min()
    assert (curves.least <= curves.median).all()
    assert (curves.median <= curves.greatest).all()


def test_columns_that_come_late_are_empty_before() -> None:
    """A parameter that is thawed later has NaN for the steps before."""
    history = History(1_000_000)
    history.places([Column("gradient", "a")])
    history.append(1, np.array([1.0], np.float32))
    history.places([Column("gradient", "b")])
    history.append(2, np.array([2.0, 3.0], np.float32))

    np.testing.assert_array_equal(history.curves().of("gradient", "b"), [np.nan, 3.0])


def test_file_reads_as_it_was_written(tmp_path: Path) -> None:
    """All figures come back, not a number included; a cut, foreign or newer file is refused in one sentence."""
    with watch(file=tmp_path / "run.json") as run:
        train(torch, 5)
    read = load_run(str(tmp_path / "run.json"))

    np.testing.assert_array_equal(read.curves.median, run.curves.median)
    assert read.curves.columns == run.curves.columns
    text = (tmp_path / "run.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    with pytest.raises(RecordingError, match="cut off"):
        load_run(str(tmp_path / "cut.json"))
    with pytest.raises(RecordingError, match="schema 99"):
        decoded({**json.loads(encoded(read)), "schema": 99}, "run.json")
    with pytest.raises(RecordingError, match="not a watched run"):
        decoded({"schema": 1}, "run.json")


def test_resumed_run_goes_on_in_its_file(tmp_path: Path) -> None:
    """Steps are counted on, and the break is marked."""
    for resume in (False, True):
        with watch(file=tmp_path / "run.json", resume=resume):
            train(torch, 6)
    run = load_run(str(tmp_path / "run.json"))

    assert run.curves.last[-1] == 12
    assert [one["kind"] for one in run.happened] == ["resumed"]


@pytest.mark.parametrize(
    ("trigger", "program"),
    [
        ("rate", lambda step: {"lr": 0.0 if step > 60 else 0.01}),
        ("stopped", lambda step: {"factor": 0.0 if step > 60 else 1.0}),
        ("zeros", lambda step: {"factor": 0.0 if step > 60 else 1.0}),
        ("exploding", lambda step: {"factor": 1e4 if step == 70 else 1.0}),
        ("update", lambda step: {"lr": 1e3 if step == 70 else 0.01}),
    ],
)
def test_triggers_fire_when_it_goes_wrong(engine: Any, trigger: str, program: Any) -> None:
    """Each fires once in a training that goes wrong late, within a few steps, and names the parameter."""
    engine.manual_seed(0)
    weight = engine.randn(4, 1).requires_grad_()
    optimizer = engine.optim.SGD([weight], lr=0.01)
    limits = {trigger: 20} if trigger == "stopped" else [trigger]
    with watch(triggers=limits) as run:
        for step in range(100):
            change = program(step)
            optimizer.param_groups[0]["lr"] = change.get("lr", 0.01)
            x = engine.randn(8, 4)
            optimizer.zero_grad()
            (x @ (weight * change.get("factor", 1.0)) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()

    (happened,) = run.happened
    assert happened["trigger"] == trigger
    assert 60 <= happened["step"] <= 85


def test_growing_graph_is_told(engine: Any) -> None:
    """A state that is carried from step to step with its history makes the graph larger each time."""
    weight = engine.ones(3).requires_grad_()
    optimizer = engine.optim.SGD([weight], lr=0.001)
    state = engine.zeros(3)
    with watch() as run:
        for _ in range(130):
            optimizer.zero_grad()
            state = 0.9 * state + weight * engine.randn(3)
            state.sum().backward(retain_graph=True)
            optimizer.step()

    assert [one["trigger"] for one in run.happened] == ["graph"]
    assert run.curves.of("nodes")[-1] > run.curves.of("nodes")[30] > 10


def test_right_training_fires_nothing(engine: Any) -> None:
    """A training that converges, with warm-up and decay of its rate, is left in peace."""
    engine.manual_seed(1)
    net = engine.nn.Sequential(engine.nn.Linear(4, 8), engine.nn.ReLU(), engine.nn.Linear(8, 1))
    optimizer = engine.optim.AdamW(net.parameters(), lr=0.02)
    schedule = engine.optim.lr_scheduler.LambdaLR(optimizer, lambda t: min(1.0, t / 20) * max(0.0, 1 - t / 400))
    with watch() as run:
        for _ in range(400):
            x = engine.randn(16, 4)
            optimizer.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            engine.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()

    assert run.happened == []
    assert run.problems == 0
    assert np.nanmin(run.curves.of("clip")) < 1


def test_losses_of_several_optimizers_are_told_apart(engine: Any) -> None:
    """Two networks that are trained in turn have a loss each, and one row for both steps."""
    first, second = engine.ones(2).requires_grad_(), engine.ones(2).requires_grad_()
    one, other = engine.optim.SGD([first], lr=0.1), engine.optim.SGD([second], lr=0.1)
    with watch() as run:
        for _ in range(4):
            gain = (first * 2).sum()
            gain.backward()
            one.step()
            cost = (second * 3).sum()
            cost.backward()
            other.step()

    curves = run.curves
    assert len(curves) == 4
    assert {"gain", "cost"} <= set(curves.owners("loss"))
    assert set(curves.owners("gradient")) == {"first", "second"}


def test_closure_is_read_after_it_ran(engine: Any) -> None:
    """LBFGS computes gradients within its step: those that it leaves are read."""
    weight = engine.ones(3).requires_grad_()
    optimizer = engine.optim.LBFGS([weight], max_iter=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (weight - 2).pow(2).sum()
        loss.backward()
        return loss

    with watch() as run:
        optimizer.step(closure)

    assert run.problems == 0
    np.testing.assert_allclose(run.curves.of("weight", "weight"), [np.linalg.norm(weight.detach().numpy())], rtol=1e-5)
    assert not np.isnan(run.curves.of("gradient", "weight")).any()


def test_actions() -> None:
    """``raise`` ends the training at the step, a function is given what happened, an unknown trigger is refused."""
    with pytest.raises(TrainingWentWrong, match="not finite"), watch(action="raise"):
        train(torch, 60, spoil=55)
    seen: list[dict[str, Any]] = []
    with watch(action=seen.append):
        train(torch, 60, spoil=55)
    with pytest.raises(ValueError, match="no trigger 'wrong'"):
        watch(triggers=["wrong"])

    assert [one["step"] for one in seen] == [56]


PROGRAM = """import os, signal, sys, time
import torch
torch.manual_seed(0)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.01)
for step in range(40):
    optimizer.zero_grad()
    loss = (weight - 2).pow(2).sum()
    loss.backward()
    optimizer.step()
    if step == 20 and "signal" in sys.argv:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 20 and "child" in sys.argv and os.fork() == 0:
        sys.exit(0)
    if step == 30 and "raise" in sys.argv:
        raise ValueError("no more data")
print("loss", loss.item())
"""


def run_program(folder: Path, *words: str) -> Outcome:
    """Run the program under ``retrograd watch``."""
    (folder / "train.py").write_text(PROGRAM)
    return command("watch", "train.py", "-o", "run.json", "--", *words, cwd=folder, torch=True)


def test_command_watches_a_program_as_it_is(tmp_path: Path) -> None:
    """Output and exit code are python's; the table stands on stderr; the file holds every step."""
    done = run_program(tmp_path, "child")
    alone = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    run = load_run(str(tmp_path / "run.json"))

    assert (done.out, done.code) == (alone.stdout, 0)
    assert "train.py · 40 steps · 1 parameters" in done.err
    assert run.steps == 40
    assert run.about["complete"] is True


def test_modules_are_imported_in_any_order(tmp_path: Path) -> None:
    """A program of our engine is watched whichever of its parts it imports first."""
    lines = "import retrograd.nn as nn, retrograd as rg", *PROGRAM.replace("torch", "rg").splitlines()[2:]
    (tmp_path / "train.py").write_text("\n".join(["import os, signal, sys", *lines]))
    done = command("watch", "train.py", cwd=tmp_path)

    assert "train.py · 40 steps · 1 parameters" in done.err, done.err


def test_program_that_raises_or_is_killed_leaves_its_steps(tmp_path: Path) -> None:
    """An exception is noted with its line and goes on to the user; after SIGUSR1 and SIGKILL the steps are there."""
    raised = run_program(tmp_path, "raise")
    after_error = load_run(str(tmp_path / "run.json"))
    killed = run_program(tmp_path, "signal")
    after_kill = load_run(str(tmp_path / "run.json"))

    assert raised.code == 1
    assert raised.err.count("ValueError: no more data") >= 1
    assert after_error.happened[-1]["text"] == "ValueError: no more data at train.py:17"
    assert killed.code == -signal.SIGKILL
    assert after_kill.steps >= 20
    assert after_kill.about["complete"] is False


def test_stats_show_a_watched_run(tmp_path: Path) -> None:
    """``retrograd stats run.json`` prints the table, or JSON without NaN."""
    with watch(file=tmp_path / "run.json"):
        train(torch, 30)
    shown, plain, table = (
        command("stats", "run.json", *form, cwd=tmp_path) for form in ((), ("-f", "json"), ("-f", "csv"))
    )
    rows = list(csv.DictReader(io.StringIO(table.out)))

    assert [row["first step"] for row in rows] == [str(step) for step in range(1, 31)]
    assert float(rows[0]["gradient:0.weight"]) > 0
    assert "30 steps" in shown.out
    assert "0.weight" in shown.out
    assert json.loads(plain.out)["figures"]["loss"]["first"] > 0


def test_unwritable_file_is_refused_before_and_survived_after(tmp_path: Path, capsys: Any) -> None:
    """A folder that is not there is refused at once; one that vanishes costs a sentence and the file."""
    with pytest.raises(OSError, match="missing"):
        watch(file=tmp_path / "missing" / "run.json")
    (tmp_path / "there").mkdir()
    with watch(file=tmp_path / "there" / "run.json"):
        train(torch, 3)
        os.rmdir(tmp_path / "there")

    assert "run.json" in capsys.readouterr().err


FULL = """
import resource, sys
import retrograd as rg
w = rg.nn.Parameter(rg.ones(2))
optimizer = rg.optim.SGD([w], lr=0.1)
with rg.watch(optimizer=optimizer, file="run.json", flush=0.0, triggers=False) as run:
    for step in range(6):
        w.square().sum().backward()
        optimizer.step()
        if step == 2:
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
        if step == 4 and "cleared" in sys.argv:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
print("trained")
"""


@pytest.mark.parametrize(("arguments", "steps"), [((), 2), (("cleared",), 6)])
def test_full_disk(tmp_path: Path, arguments: tuple[str, ...], steps: int) -> None:
    """What was written before the disk was full is there, one sentence says so, and writing is tried again."""
    (tmp_path / "train.py").write_text(FULL)
    command = [sys.executable, "train.py", *arguments]
    ended = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "trained\n")
    assert ended.stderr.count("retrograd: error: Could not write") == ended.stderr.count("\n") == 1
    assert load_run(str(tmp_path / "run.json")).steps == steps


def fitted(folder: Path, name: str, *, seed: int, freeze: bool = False, rate: float = 0.05) -> str:
    """Watch a small training whose first layer may be frozen; return the name of its file."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    with watch(net, file=folder / name):
        for _ in range(40):
            x = torch.randn(16, 4)
            net[0].requires_grad_(not freeze)
            optimizer.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            optimizer.step()
    return name


def test_two_runs_are_compared_by_what_parameters_do(tmp_path: Path) -> None:
    """A frozen layer and another rate are told, in order of cause; another seed makes no difference by itself."""
    names = (
        fitted(tmp_path, "good.json", seed=0),
        fitted(tmp_path, "seed.json", seed=1),
        fitted(tmp_path, "frozen.json", seed=2, freeze=True),
        fitted(tmp_path, "slow.json", seed=0, rate=0.0005),
    )
    good, seed, frozen, slow = (load_run(str(tmp_path / name)) for name in names)

    assert differences(good, seed) == []
    assert [one.what for one in differences(good, frozen)] == ["0.weight", "0.bias"]
    assert "gets a gradient in 100% of the steps, then 0%" in differences(good, frozen)[0].sentence
    assert next(one.what for one in differences(good, slow)) == "rate"
    assert "equal up to step 1 and diverge at step 2" in differences(good, slow)[-1].sentence


def test_modes_of_modules_are_compared() -> None:
    """A layer left in evaluation mode is named first, not each module in it; modes between steps do not count."""

    def run(frozen: bool) -> Any:
        retrograd.manual_seed(1)
        stage = retrograd.nn.Sequential(retrograd.nn.Linear(3, 4), retrograd.nn.Dropout(0.1))
        net = retrograd.nn.Sequential(stage, retrograd.nn.Linear(4, 1))
        sgd = retrograd.optim.SGD(net.parameters(), lr=0.1)
        with watch() as watched:
            for _ in range(30):
                net.eval()
                net.train()
                stage.train(not frozen)
                sgd.zero_grad()
                net(retrograd.randn(4, 3)).square().mean().backward()
                sgd.step()
        return watched.run

    found = differences(run(frozen=True), run(frozen=False))
    assert (found[0].what, found[0].sentence) == (
        "0",
        "is in evaluation mode when a step is taken, then in training mode",
    )
    assert [one.what for one in found if one.rank == 0] == ["0"]
    assert differences(run(frozen=True), run(frozen=True)) == []


def test_diff_command_compares_watched_runs(tmp_path: Path) -> None:
    """Exit code 1 with the table where they differ, 0 where not, 2 beside something else."""
    good, frozen = fitted(tmp_path, "good.json", seed=0), fitted(tmp_path, "frozen.json", seed=0, freeze=True)
    (tmp_path / "other.json").write_text("{}")
    runs = [command("diff", good, other, cwd=tmp_path) for other in (frozen, good, "other.json")]

    assert [one.code for one in runs] == [1, 0, 2]
    assert "gets a gradient in 100% of the steps, then 0%" in runs[0].out


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_bytes_that_a_graph_keeps(engine: str) -> None:
    """Tanh keeps its result, a product the other factor; memory that two nodes keep counts once, parameters do not."""
    torch = pytest.importorskip(engine)
    w = torch.nn.Parameter(torch.ones(10, 100))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with watch(optimizer=optimizer, triggers=False) as run:
        for _ in range(3):
            h = torch.tanh(w)
            (h * h).sum().backward()
            optimizer.step()

    assert run.curves.of("held").tolist() == [4000.0] * 3
    assert run.curves.of("nodes").tolist() == [4.0] * 3
