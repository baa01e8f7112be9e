"""Graphs far deeper than the recursion limit, and many threads on one leaf."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import retrograd as torch

DEPTH = 100_000
"""Enough to overflow any recursion; benchmarks/chain_million.py runs the same at 1,000,000."""


def chain(x: torch.Tensor, depth: int) -> torch.Tensor:
    """``depth`` multiplications in a row."""
    for _ in range(depth):
        x = x * 1.0000001
    return x


def test_deep_chain_first_and_second_order() -> None:
    """Forward, backward, a graph of the gradient, its backward and the release of all of it."""
    assert sys.getrecursionlimit() <= 10_000
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)

    y = chain(x * x, DEPTH // 4)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    del y, g

    assert gg.item() == pytest.approx(2 * 1.0000001 ** (DEPTH // 4))


def test_deep_chain_dropped_without_backward() -> None:
    """A deep graph that is never run is freed without recursion."""
    x = torch.ones(2, requires_grad=True)

    y = chain(x, DEPTH)
    del y

    assert x.grad is None


def test_deep_chain_of_views_and_writes() -> None:
    """In-place writes through views nest as deep as they like."""
    x = torch.ones(4, requires_grad=True)
    y = x.clone()
    for i in range(2_000):
        y[i % 4].mul_(1.0)

    y.sum().backward()

    np.testing.assert_array_equal(x.grad.numpy(), np.ones(4, np.float32))


def test_deep_chain_of_views() -> None:
    """A view of a view costs the same at every depth, and can be made again from the root after a write to it."""
    x = torch.ones(4, requires_grad=True)
    root = x.clone()
    y = root
    for i in range(DEPTH // 2):
        y = y.view(2, 2) if i % 2 == 0 else y.view(4)

    root.mul_(3.0)
    y.sum().backward()

    assert y._base is root
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 3.0, np.float32))


def test_threads_through_shared_leaves() -> None:
    """8 threads, 1,000 times, give the exact sum each time; all begin a repetition together."""
    w = torch.ones(3, requires_grad=True)
    wrong: list[list[float]] = []

    def check() -> None:
        """Hold the sum of one repetition against the truth, while all threads wait."""
        if w.grad.tolist() != [16.0] * 3:
            wrong.append(w.grad.tolist())
        w.grad = None

    meet = threading.Barrier(8, action=check)

    def work() -> None:
        for _ in range(1_000):
            (w * 2).sum().backward()
            meet.wait(300)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert not meet.broken
    assert wrong == []
