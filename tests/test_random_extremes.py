"""Random draws with parameters at and beyond the ends of their ranges, held against PyTorch."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd

NAN, INF = math.nan, math.inf


def drawn(torch: Any, name: str, *parameters: float, dtype: str = "float64") -> Any:
    """What a function of tensors draws for each of a few equal parameters, and the number that follows."""
    torch.manual_seed(4)
    values = getattr(torch, name)(*(torch.full((40,), p, dtype=getattr(torch, dtype)) for p in parameters))
    return values, torch.rand(1)


@differential
def test_rates_without_an_end(torch: Any) -> Any:
    """Poisson rates of NaN are refused; what does not fit into 64 bits is the lowest integer."""
    return [
        [raises("invalid Poisson rate", torch.poisson, torch.tensor([1.0, rate])) for rate in (NAN, -1.0, -INF)],
        [drawn(torch, "poisson", rate)[0] for rate in (1e300, 1e19)], drawn(torch, "poisson", INF),
        drawn(torch, "poisson", 6e4, dtype="float16"), drawn(torch, "poisson", INF, dtype="float16"),
    ]  # fmt: skip


@differential
def test_trials_without_an_end(torch: Any) -> Any:
    """Infinitely many trials, probabilities of NaN and such that the next success is infinitely far away."""
    cases = (
        (INF, 0.5),
        (INF, 0.9),
        (INF, 1e-300),
        (5, NAN),
        (NAN, NAN),
        (NAN, 1.5),
        (-5, NAN),
        (5, 1e-320),
        (1e200, 0.3),
    )
    return [drawn(torch, "binomial", *case) for case in cases]


def test_a_count_of_nan_ends() -> None:
    """Where PyTorch draws for ever, the count is returned."""
    assert drawn(retrograd, "binomial", NAN, 0.5)[0].isnan().all()


@differential
def test_concentrations_that_are_not_positive(torch: Any) -> Any:
    """Gamma numbers of negative, infinite and tiny concentrations."""
    cases = (-2.0, -2 / 3, -0.8, -0.5, -1e-3, -1e-320, 1e-320, NAN, INF, 0.0)
    return [drawn(torch, "_standard_gamma", case) for case in cases]


@differential
def test_draws_beyond_a_dtype_are_silently_infinite(torch: Any) -> Any:
    """No warning comes of numbers that are too large for a dtype."""
    half = torch.float16
    filled = [
        torch.empty(400, dtype=half).cauchy_(0, 1000), torch.empty(400, dtype=half).normal_(0, 60000),
        torch.empty(9, dtype=half).normal_(0, 60000), torch.empty(400).normal_(0, 1e300),
        torch.empty(400).normal_(INF, INF), torch.empty(400).cauchy_(0, 1e300), torch.empty(400).log_normal_(80, 40),
        torch.empty(400).double().log_normal_(800, 400), torch.empty(400, dtype=half).exponential_(1e-6),
        torch.empty(400).exponential_(1e-45), torch.empty(400, dtype=half).geometric_(1e-8),
        torch.empty(400).geometric_(1e-320), torch.normal(torch.zeros(40), torch.full((40,), 3e38)),
    ]  # fmt: skip
    return [(t.isinf().any(), t.isnan().all()) for t in filled]


@differential
def test_parameters_of_nan_are_refused(torch: Any) -> Any:
    """NaN is neither positive nor a probability."""
    F, x = torch.nn.functional, torch.ones(2, 3)
    return [
        raises("normal expects std >= 0.0", x.normal_, 0, NAN),
        raises("normal expects std >= 0.0", torch.normal, x, NAN),
        raises("all elements of std >= 0.0", torch.normal, 0.0, x * NAN),
        raises("exponential_ expects lambda > 0.0", x.exponential_, NAN),
        raises("cauchy_ expects sigma > 0.0", x.cauchy_, 0, NAN),
        raises("log_normal_ expects std > 0.0", x.log_normal_, 0, NAN),
        [raises("probability has to be between 0 and 1, but got nan", f, x, NAN, training)
         for f in (F.dropout, F.alpha_dropout, F.dropout1d) for training in (True, False)],
        raises("rrelu: lower bound must be finite, got nan", F.rrelu, x, NAN, 1.0, training=True),
        raises("rrelu: upper bound must be finite, got inf", F.rrelu, x, 0.0, INF, training=True),
    ]  # fmt: skip


@differential
def test_integers_beyond_half_precision_are_refused(torch: Any) -> Any:
    """Bounds must be numbers of the dtype; permutations must hold each number exactly."""
    half = torch.float16
    x = torch.ones(3, dtype=half)
    return [
        raises("to - 1 is out of bounds for c10::Half", torch.randint, 0, 2**30, (3,), dtype=half),
        raises("from is out of bounds for c10::Half", x.random_, -(2**30), 2),
        raises("n cannot be greater than 2049 for Half type", torch.randperm, 5000, dtype=half),
        torch.randperm(2049, dtype=half).sum(dtype=torch.float64),
        raises("\"rrelu_with_noise_out_cpu\" not implemented for 'Half'", torch.nn.functional.rrelu, x, training=True),
        torch.nn.functional.rrelu(x),
    ]


@differential
def test_setting_a_state_returns_the_generator(torch: Any) -> Any:
    """So calls can be chained."""
    g = torch.Generator()
    return [g.set_state(torch.Generator().manual_seed(3).get_state()) is g, g.manual_seed(2) is g, g.initial_seed()]


FORKS = """
import os, signal, threading, retrograd
own, held, go_on = retrograd.Generator(), threading.Event(), threading.Event()
def draw():
    with retrograd.default_generator.lock:
        held.set()
        go_on.wait(0.05)
def draw_own():
    with own.lock:
        threading.Thread(target=draw).start()
        go_on.wait(10)
threading.Thread(target=draw_own).start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(5)
    retrograd.rand(3), retrograd.rand(3, generator=own)
    os._exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
print(code, retrograd.rand(3).shape)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_process_forks_between_draws() -> None:
    """A child draws though another thread was drawing when its parent forked."""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=20)
    assert ran.stdout.startswith("7 "), ran.stderr
