"""The gradient of what was overwritten is a zero without history, whatever flows in (also NaN and infinity)."""

from __future__ import annotations

import pytest

import retrograd

torch = pytest.importorskip("torch")

WRITES = {
    "fill_": lambda t, y: y.fill_(0.7),
    "fill_ with a tensor": lambda t, y: y.fill_(t.tensor(2.0)),
    "zero_": lambda t, y: y.zero_(),
    "copy_": lambda t, y: y.copy_(t.ones(3)),
    "normal_": lambda t, y: y.normal_(),
    "uniform_": lambda t, y: y.uniform_(),
    "bernoulli_": lambda t, y: y.bernoulli_(),
    "exponential_": lambda t, y: y.exponential_(),
    "clamp_": lambda t, y: y.clamp_(5.0, 6.0),
    "pow with 0": lambda t, y: y.pow(0),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradient_of_overwritten_values(name):
    def outcome(t):
        x = t.ones(3, requires_grad=True)
        y = x * 1.5
        written = WRITES[name](t, y.clone())
        incoming = t.tensor([float("nan"), float("inf"), 1.0], requires_grad=True) * 2
        (g,) = t.autograd.grad(written, [y], incoming, create_graph=True)
        return g.tolist(), g.requires_grad

    ours, theirs = outcome(retrograd), outcome(torch)

    assert ours == theirs
    assert ours[0] == [0.0, 0.0, 0.0]
