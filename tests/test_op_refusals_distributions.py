"""Parameters outside the bounds of a distribution: both engines raise the same type with the same beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

CALLS: dict[str, Callable[[Any], Any]] = {
    "uniform from above to": lambda t: t.zeros(2).uniform_(2, 1),
    "uniform beyond the dtype": lambda t: t.zeros(2).uniform_(-1e39, 1e39),
    "uniform integers": lambda t: t.tensor([1, 2]).uniform_(),
    "negative std": lambda t: t.zeros(2).normal_(0, -1),
    "negative std of a size": lambda t: t.normal(0.0, -1.0, (2,)),
    "negative elements of std": lambda t: t.normal(t.zeros(2), -t.ones(2)),
    "normal integers": lambda t: t.normal(t.tensor([1, 2]), 1.0),
    "probability above 1": lambda t: t.zeros(2).bernoulli_(1.5),
    "probabilities above 1": lambda t: t.bernoulli(t.ones(2) * 2),
    "integers as probabilities": lambda t: t.bernoulli(t.tensor([1, 2])),
    "too many probabilities": lambda t: t.zeros(2).bernoulli_(t.ones(3) * 0.5),
    "rate below 0": lambda t: t.zeros(2).exponential_(-1),
    "exponential integers": lambda t: t.tensor([1, 2]).exponential_(),
    "complex trials": lambda t: t.zeros(2, dtype=t.complex64).geometric_(0.5),
    "empty range": lambda t: t.randint(3, 3, (2,)),
    "integers beyond the dtype": lambda t: t.randint(0, 300, (2,), dtype=t.uint8),
    "complex integers": lambda t: t.randint(0, 2, (1,), dtype=t.complex64),
    "integers that require a gradient": lambda t: t.randint(0, 2, (1,), requires_grad=True),
    "empty range like a tensor": lambda t: t.randint_like(t.zeros(2), 3, 3),
    "random beyond the dtype": lambda t: t.zeros(2, dtype=t.uint8).random_(0, 300),
    "negative size": lambda t: t.rand(-1),
    "uniform dtype": lambda t: t.rand(2, dtype=t.int64),
    "normal truth values": lambda t: t.randn(2, dtype=t.bool),
    "negative permutation": lambda t: t.randperm(-1),
    "no weight": lambda t: t.multinomial(t.zeros(3), 1),
    "negative weight": lambda t: t.multinomial(-t.ones(3), 1),
    "more than there are": lambda t: t.multinomial(t.ones(3), 4),
    "negative Poisson rate": lambda t: t.poisson(-t.ones(2)),
    "Poisson integers": lambda t: t.poisson(t.tensor([1, 2])),
    "binomial integers": lambda t: t.binomial(t.tensor([1, 2]), t.ones(2)),
    "dropped integers": lambda t: t.nn.functional.dropout(t.tensor([1, 2]), 0.5),
    "slopes out of order": lambda t: t.nn.functional.rrelu(t.ones(2), 2, 1),
    "Gumbel integers": lambda t: t.nn.functional.gumbel_softmax(t.tensor([1, 2])),
}


@pytest.mark.parametrize("what", CALLS)
def test_both_engines_refuse(what: str) -> None:
    """The type of the error and the beginning of its message are PyTorch's."""
    said = []
    for engine in (torch, retrograd):
        with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
            CALLS[what](engine)
        said.append((caught.type.__name__, str(caught.value)[:22]))
    assert said[0] == said[1]
