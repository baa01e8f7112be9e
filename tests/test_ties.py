"""SPEC E, operators: which of several equal elements ``kthvalue``, ``topk`` and ``mode`` name: that of PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd

real_torch = pytest.importorskip("torch")

CALLS: dict[str, Callable[[Any, Any, int], Any]] = {
    "kthvalue": lambda t, x, k: t.kthvalue(x, k, 1),
    "kthvalue of columns": lambda t, x, k: t.kthvalue(x.t(), k, 0, keepdim=True),
    "topk": lambda t, x, k: t.topk(x, k),
    "the smallest": lambda t, x, k: t.topk(x, k, largest=False),
    "few of many": lambda t, x, k: t.topk(x, max(1, x.shape[1] // 64)),
    "topk of columns": lambda t, x, k: t.topk(x.t(), k, 0),
    "not in order": lambda t, x, k: t.topk(x, k, sorted=False),
    "the smallest, not in order": lambda t, x, k: t.topk(x, k, largest=False, sorted=False),
    "topk of one row": lambda t, x, k: t.topk(x[0], k),
    "kthvalue of one row": lambda t, x, k: t.kthvalue(x[0], k),
    "mode": lambda t, x, k: t.mode(x, 1),
}


def test_ties_cost_no_more_than_a_call_has_time_for() -> None:
    """Half of 20,000 elements are chosen without Python's comparing each, equal or not: that would take 40 ms."""
    x = retrograd.arange(20_000) // 7
    called: list[str] = []
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_name))
    try:
        x.topk(10_000)
        x.mode()
    finally:
        sys.setprofile(None)
    assert len(called) < 20_000


def test_more_elements_than_are_followed_give_the_same_values() -> None:
    """Which of equal ones is named is then any of them."""
    rows = np.random.default_rng(0).integers(0, 3, (400, 100))
    ours, theirs = (t.topk(t.tensor(rows), 5) for t in (retrograd, real_torch))
    assert ours.values.tolist() == theirs.values.tolist()
    np.testing.assert_array_equal(np.take_along_axis(rows, ours.indices.numpy(), 1), ours.values.numpy())
    assert (
        retrograd.mode(retrograd.tensor(rows)).values.tolist()
        == real_torch.mode(real_torch.tensor(rows)).values.tolist()
    )


@pytest.mark.parametrize("name", CALLS)
def test_the_same_one_of_equal_elements_is_named(name: str) -> None:
    """Rows of few different numbers, some with NaN, short and long."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 17, 40, 200):
        for kinds in (1, 3, 8):
            rows = rng.integers(0, kinds, (2, n))
            k = int(rng.integers(1, n + 1))
            floats = np.where(rows == 2, np.nan, rows.astype(np.float64))
            for array in (rows, rows.astype(np.uint8)) if name == "mode" else (rows, rows.astype(np.uint8), floats):
                ours, theirs = (CALLS[name](t, t.tensor(array), k) for t in (retrograd, real_torch))
                assert ours.indices.tolist() == theirs.indices.tolist(), (array, k)
                np.testing.assert_array_equal(ours.values.numpy(), theirs.values.numpy())
