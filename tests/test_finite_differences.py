"""Custom Functions compared with finite differences: right, deliberate and wrong ones, on both engines.

What is right and wrong is PyTorch's own ``gradcheck`` to say.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import weakref

import numpy as np
import pytest
from derivative_functions import MEANT, RIGHT, WRONG, drawn, function
from side_by_side import finish, retrograd, start

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.finite_differences import check, isolation
from retrograd.inspect.process.recorder import recording

pytestmark = pytest.mark.filterwarnings("ignore")
EACH_ENGINE = pytest.mark.parametrize("engine", ["retrograd", "torch"])


def checked(engine, maker):
    """Run a Function once, recorded, and return what the check said of it."""
    torch = pytest.importorskip(engine)
    torch.manual_seed(0)
    made, arguments = maker(torch)
    with recording(level="full", check=True) as recorded:
        on_a_short_stack(lambda: made.apply(*arguments))
    return [event.data for event in recorded.events if event.data.get("action") == "checked"]


def on_a_short_stack(work):
    """Do something on a thread of its own: of each call every frame is looked at, and pytest's are many."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@EACH_ENGINE
@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_agree(name, engine):
    """What is the derivative is found to be it."""
    assert [event["relative_error"] for event in checked(engine, RIGHT[name])] == [0.0]


@EACH_ENGINE
@pytest.mark.parametrize("name", MEANT)
def test_deliberate_ones_are_let_be(name, engine):
    """What is meant to be something else is not called wrong."""
    assert [event["relative_error"] for event in checked(engine, MEANT[name])] in ([], [0.0])


@EACH_ENGINE
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_found(name, engine):
    """The argument whose derivative is wrong is named, with the two numbers."""
    maker, argument = WRONG[name]
    (event,) = checked(engine, maker)

    assert event["relative_error"] > 0.02
    assert event["parameters"][event["argument"]] == argument
    assert event["analytic"] != event["numeric"]


KINKS = ("relu_at_its_kink", "absolute_value_of_zeros", "largest_among_ties")
SYMMETRIC = ("inverse_of_a_symmetric_matrix",)
LARGE = ("large_inputs", "large_and_wrong")


@pytest.mark.parametrize("name", [one for one in (*RIGHT, *WRONG) if one not in (*KINKS, *SYMMETRIC, *LARGE)])
def test_gradcheck_says_the_same(name):
    """PyTorch's gradcheck, where it can be used, passes the right ones and refuses the wrong ones."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    made, arguments = (RIGHT[name] if name in RIGHT else WRONG[name][0])(torch)
    single = "single_precision" in name

    def floats(one):
        return isinstance(one, torch.Tensor) and one.is_floating_point()

    def call(*given):
        torch.manual_seed(3)
        found = made.apply(*[one * 1.0 if floats(one) else one for one in given])
        return found[0] if isinstance(found, tuple) else found

    wide = [
        one.detach().double().requires_grad_(one.requires_grad) if floats(one) and not single else one
        for one in arguments
    ]
    steps = {"eps": 1e-2, "atol": 2e-2} if single else {"eps": 1e-8 if "tiny" in name else 1e-6}
    assert torch.autograd.gradcheck(call, wide, raise_exception=False, rtol=2e-2, **steps) == (name in RIGHT)


def wrong_and_more(torch, deed):
    """A Function that is wrong and does something besides."""

    def forward(ctx, x):
        deed(x)
        ctx.save_for_backward(x)
        return x * x

    return function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]), (drawn(torch, 3),)


@EACH_ENGINE
def test_nothing_of_it_is_seen(engine, capfd):
    """What a Function prints, reads and draws while it is checked does not reach the program."""
    torch = pytest.importorskip(engine)
    states = []

    def deed(x):
        print("out")
        print("err", file=sys.stderr)
        random.random()
        np.random.rand()
        torch.rand(1)
        states.append((random.getstate(), np.random.get_state()[1].tolist(), rng_state(torch)))

    (event,) = checked(engine, lambda torch: wrong_and_more(torch, deed))

    assert event["factor"] == pytest.approx(0.5)
    assert len(states) > 5
    assert states[0] == (random.getstate(), np.random.get_state()[1].tolist(), rng_state(torch))
    assert capfd.readouterr() == ("out\n", "err\n")


def rng_state(torch):
    """The state of an engine's generator, comparable."""
    state = torch.get_rng_state()
    return state if isinstance(state, dict) else state.tolist()


@EACH_ENGINE
@pytest.mark.parametrize("problem", ["counts", "raises", "leaves", "waits"])
def test_what_cannot_be_checked_is_not_judged(engine, problem, monkeypatch):
    """A Function that is not repeatable, fails the second time, ends the program or never returns has no verdict."""
    calls, go_on = [], threading.Event()
    if problem == "waits":
        monkeypatch.setattr(check, "SECONDS", 1.0)
        monkeypatch.setattr(check, "_GRACE", 0.3)

    def deed(x):
        calls.append(problem)
        if len(calls) == 1:
            return
        if problem == "counts":
            x += len(calls)
        elif problem == "waits":
            go_on.wait(100)
        else:
            raise {"raises": ValueError, "leaves": SystemExit}[problem]

    assert checked(engine, lambda torch: wrong_and_more(torch, deed)) == []
    assert len(calls) > 1
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == isolation.NAME:
            thread.join(100)
            assert not thread.is_alive(), "it does not stop when its time is over"


@EACH_ENGINE
def test_nothing_is_kept_alive(engine):
    """While the recording is open no tensor, graph or class of the program lives longer than without it."""
    torch = pytest.importorskip(engine)
    dead = []

    def program():
        made, (x,) = RIGHT["exponential_saves_its_output"](torch)
        dead.extend(weakref.ref(one) for one in (x, made.apply(x), made))

    with recording(level="full", check=True):
        on_a_short_stack(program)
        gc.collect()
        assert [one() for one in dead] == [None] * 3


def test_memory_can_still_be_resized():
    """PyTorch forbids for good to resize memory that was handed to NumPy; what is copied here is not."""
    torch = pytest.importorskip("torch")
    made, (x,) = RIGHT["exponential_saves_its_output"](torch)
    with recording(level="full", check=True):
        on_a_short_stack(lambda: made.apply(x))
    assert x.untyped_storage().resizable()


@EACH_ENGINE
def test_closures_are_not_kept(engine):
    """A Function that is given something that could hold tensors is not checked."""
    torch = pytest.importorskip(engine)
    w = drawn(torch, 3)

    def maker(torch):
        made = function(torch, lambda ctx, f, x: f(x), lambda ctx, g: (None, g))
        return made, (lambda x: x * w, drawn(torch, 3))

    assert checked(engine, maker) == []


@EACH_ENGINE
@pytest.mark.parametrize("both", [True, False])
def test_outputs_that_nothing_used_need_no_gradient(engine, both):
    """Backward may leave out an output that the program does nothing with, and no other."""
    torch = pytest.importorskip(engine)

    def forward(ctx, x):
        total = x.exp().sum()
        ctx.save_for_backward(x, total)
        return x.exp() / total, total

    def backward(ctx, g, _):
        x, total = ctx.saved_tensors
        y = x.exp() / total
        return y * (g - (g * y).sum())

    made = function(torch, forward, backward)

    def program():
        y, total = made.apply(drawn(torch, 4))
        ((y * y).sum() + (total if both else 0)).backward()

    with recording(level="full", check=True) as recorded:
        on_a_short_stack(program)
    assert [finding.kind for finding in diagnose(recorded)] == (["wrong-backward"] if both else [])


@EACH_ENGINE
@pytest.mark.parametrize("check", [True, False])
def test_sums_left_to_the_engine_are_right(engine, check):
    """A gradient that the engine sums to its input's shape has the wrong shape only if the sum is wrong."""
    torch = pytest.importorskip(engine)
    made, arguments = RIGHT["bias_gradient_left_to_be_summed"](torch)
    with recording(level="full", check=check) as recorded:
        on_a_short_stack(lambda: made.apply(*arguments).sum().backward())
    assert [finding.message for finding in diagnose(recorded)] == []


PROGRAM = """
import atexit, os, random, sys
import torch

calls = []

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        calls.append(x)
        print("forward", len(calls))
        sys.stderr.write("to stderr\\n")
        return x * 2 * random.random()

    @staticmethod
    def backward(ctx, g):
        print("backward")
        return g

x = torch.ones(3, requires_grad=True)
Twice.apply(x).sum().backward()
if os.fork() == 0:
    print("child")
    sys.exit(3)
os.wait()
atexit.register(lambda: print("the end", len(calls), random.random()))
random.seed(1)
if "closed" in sys.argv:
    sys.stdout.flush()
    os.close(1)
    sys.stdout = None
"""


@pytest.mark.parametrize("arguments", [[], ["closed"]])
def test_program_runs_as_alone(arguments, tmp_path):
    """What the program writes, and its exit code, are those of ``python``; the Function was checked nevertheless."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("import torch", "import retrograd as torch"))
    alone = finish(start([sys.executable, str(path), *arguments], tmp_path))
    report = tmp_path / "found.json"
    words = ["diagnose", "--exit-zero", "-o", str(report), str(path), "--", *arguments]
    watched = retrograd(*words, cwd=tmp_path, engine=True)
    assert watched == alone
    assert [finding["kind"] for finding in json.loads(report.read_text())["findings"]] == ["wrong-backward"]


@EACH_ENGINE
def test_only_when_asked(engine):
    """Without ``check``, and at lower levels, a Function is called as often as the program calls it."""
    torch = pytest.importorskip(engine)
    calls = []
    made, arguments = wrong_and_more(torch, calls.append)
    for options in ({"level": "full"}, {"level": "backward", "check": True}):
        with recording(**options) as recorded:
            on_a_short_stack(lambda: made.apply(*arguments))
        assert [event for event in recorded.events if event.data.get("action") == "checked"] == []
    assert len(calls) == 2


@EACH_ENGINE
def test_a_factor_of_one_that_is_forgotten_shows_later(engine):
    """A weight that begins as ones hides that backward leaves it out; the call after its first step does not."""
    torch = pytest.importorskip(engine)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, signal, weight):
            ctx.save_for_backward(signal)
            return signal.sin() * weight

        @staticmethod
        def backward(ctx, incoming):
            (signal,) = ctx.saved_tensors
            return incoming * signal.cos(), (incoming * signal.sin()).sum(0)

    def train():
        torch.manual_seed(0)
        signal, weight = torch.randn(5, 3, requires_grad=True), torch.ones(3, requires_grad=True)
        for _ in range(4):
            (slope,) = torch.autograd.grad(Scaled.apply(signal, weight).sum(), weight)
            with torch.no_grad():
                weight += 0.1 * slope

    with recording(level="full", check=True) as recorded:
        on_a_short_stack(train)
    found = [event.data for event in recorded.events if event.data.get("action") == "checked"]

    assert [one["relative_error"] > 0.02 for one in found] == [False, True]
    assert found[1]["parameters"][found[1]["argument"]] == "signal"
