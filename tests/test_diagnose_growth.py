"""What diagnosis costs grows with the length of a recording, not with its square: calls are counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import retrograd as rg
from retrograd.inspect.diagnosis import diagnose

Program = Callable[[int], None]


def chain(count: int) -> None:
    """One deep graph."""
    h = x = rg.ones(3, requires_grad=True)
    for _ in range(count):
        h = h * 1.01
    (h + x).sum().backward()


def many_runs(count: int) -> None:
    """Runs that add up in one gradient."""
    x = rg.ones(3, requires_grad=True)
    for _ in range(count):
        (x * 2).sum().backward()


def updates_by_hand(count: int) -> None:
    """A leaf and a buffer that are written in every step."""
    w, mean = rg.ones(3, requires_grad=True), rg.ones(3)
    for _ in range(count):
        (w * mean).sum().backward()
        with rg.no_grad():
            mean.mul_(0.9).add_(w, alpha=0.1)
            w -= 0.01 * w.grad
            w.grad = None


def steps(count: int) -> None:
    """An optimizer."""
    model = rg.nn.Linear(3, 1)
    optimizer = rg.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(count):
        optimizer.zero_grad()
        model(rg.ones(4, 3)).sum().backward()
        optimizer.step()


def new_leaves(count: int) -> None:
    """Each step cuts the chain and goes on from a new leaf."""
    h = rg.ones(3, requires_grad=True)
    for _ in range(count):
        h = (h * 1.0).detach().requires_grad_()
    h.sum().backward()


def kept_losses(count: int) -> None:
    """A sum of losses that holds all their graphs."""
    x, total = rg.ones(3, requires_grad=True), rg.zeros(())
    for _ in range(count):
        loss = (x * 2).sum()
        loss.backward()
        total = total + loss


def written_views(count: int) -> None:
    """Many views of one tensor, each written through."""
    h = rg.ones(3, requires_grad=True) * 1
    for i in range(count):
        h[i % 3].add_(1.0)
    h.sum().backward()


def not_a_number(count: int) -> None:
    """A NaN in the middle of a chain of writes."""
    h = rg.ones(3, requires_grad=True) * 1
    for i in range(count):
        h.add_(1.0 if i != count // 2 else float("nan"))
    h.sum().backward()


def second_order(count: int) -> None:
    """A gradient of a gradient in every step."""
    x = rg.ones(3, requires_grad=True)
    for _ in range(count):
        (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()


class Doubled(rg.autograd.Function):
    """A custom Function that a loop applies again and again."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def smooth_steps(count: int) -> None:
    """A recurrence whose loss compares each state with the one before."""
    rate, state, total = rg.tensor([0.5, 0.4], requires_grad=True), rg.ones(2), 0.0
    for _ in range(count):
        before, state = state, rg.tanh(rate * state)
        total = total + (state - before).square().mean() + rg.nn.functional.cosine_similarity(state, before, dim=0)
    total.backward()


def custom_functions(count: int) -> None:
    """A recurrence through a custom Function."""
    rate = rg.tensor([0.3, 0.4], requires_grad=True)
    state = rg.ones(2)
    for _ in range(count):
        state = rg.tanh(Doubled.apply(state * rate))
    state.sum().backward()


def asked_gradients(count: int) -> None:
    """Steps along gradients that are asked for, and kept in a running mean."""
    weight, mean = rg.ones(2, requires_grad=True), rg.zeros(2)
    for _ in range(count):
        (grad,) = rg.autograd.grad(weight.square().sum(), weight)
        mean = 0.9 * mean + 0.1 * grad
        with rg.no_grad():
            weight -= 0.1 * mean


PROGRAMS = [
    chain,
    many_runs,
    updates_by_hand,
    steps,
    new_leaves,
    kept_losses,
    written_views,
    not_a_number,
    second_order,
    smooth_steps,
    custom_functions,
    asked_gradients,
]


def _calls_made(program: Program, count: int) -> int:
    """How often the diagnosis of a recorded program enters a function or a generator, of Python's or C's."""
    with rg.debug() as trace:
        program(count)
    entered = 0

    def profiler(frame: FrameType, event: str, _: Any) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        diagnose(trace.recording)
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_four_times_as_long_costs_about_four_times_as_much(program: Program) -> None:
    diagnose(rg.inspect.Recording())  # imports the checks
    short, long = (_calls_made(program, count) for count in (15, 60))
    assert long < 5 * short
