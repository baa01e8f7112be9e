"""``out=`` of another dtype is taken or refused by the same overloads as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_runs import quiet

import retrograd

real_torch = pytest.importorskip("torch")

Call = Callable[[Any, Any], Any]
CALLS: dict[str, Call] = {
    "clamp by numbers": lambda t, out: t.clamp(t.ones(3), 0.0, 1.0, out=out()),
    "clamp by tensors": lambda t, out: t.clamp(t.ones(3), t.zeros(3), t.ones(3), out=out()),
    "clip by a tensor": lambda t, out: t.clip(t.ones(3), t.zeros(3), out=out()),
    "clamp_min by a number": lambda t, out: t.clamp_min(t.ones(3), 0.5, out=out()),
    "clamp_min by a tensor": lambda t, out: t.clamp_min(t.ones(3), t.ones(3), out=out()),
    "max along": lambda t, out: t.max(t.ones(2, 3), 0, out=(out(), t.empty(0, dtype=t.int64))),
    "max of two": lambda t, out: t.max(t.ones(3), t.ones(3), out=out()),
    "min along": lambda t, out: t.min(t.ones(2, 3), 0, out=(out(), t.empty(0, dtype=t.int64))),
    "sum": lambda t, out: t.sum(t.ones(2, 3), 0, out=out()),
    "inner": lambda t, out: t.inner(t.ones(3), t.ones(3), out=out()),
    "tensordot": lambda t, out: t.tensordot(t.ones(3), t.ones(3), 1, out=out()),
    "norm": lambda t, out: t.norm(t.ones(3), out=out()),
    "slogdet": lambda t, out: t.slogdet(t.eye(3), out=(out(), out())),
    "add": lambda t, out: t.add(t.ones(3), 1, out=out()),
}


def taken(engine: Any, name: str, dtype: str) -> bool:
    """Whether an engine takes an ``out=`` of this dtype."""
    try:
        with quiet():
            CALLS[name](engine, lambda: engine.empty(0, dtype=getattr(engine, dtype)))
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_out_dtypes(name: str) -> None:
    """The dtype of the result is taken, another floating one only where PyTorch takes it."""
    assert taken(retrograd, name, "float32")
    assert taken(retrograd, name, "float64") == taken(real_torch, name, "float64")
