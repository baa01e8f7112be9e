"""What element-wise operators refuse: both engines raise, where NumPy would give a wrong number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

REFUSED: dict[str, Callable[[Any], Any]] = {
    "integer division by zero": lambda t: t.tensor([1, 2]) // 0,
    "integer remainder by zero": lambda t: t.tensor([1, 2]) % t.tensor([1, 0]),
    "order of complex numbers": lambda t: t.tensor([1j]) < t.tensor([2j]),
    "sign of a complex number": lambda t: t.sign(t.tensor([1j])),
    "error function of a complex number": lambda t: t.erf(t.tensor([1j])),
    "lgamma of a complex number": lambda t: t.lgamma(t.tensor([1j])),
    "difference of truth values": lambda t: t.tensor([True]) - t.tensor([False]),
    "floats into integers": lambda t: t.exp(t.ones(2), out=t.zeros(2, dtype=t.int64)),
    "complex into reals": lambda t: t.exp(t.ones(2, dtype=t.complex64), out=t.zeros(2)),
    "a fraction added to integers in place": lambda t: t.ones(2, dtype=t.int64).add_(0.5),
    "probability beyond 1": lambda t: t.nn.functional.binary_cross_entropy(t.tensor([1.5]), t.tensor([1.0])),
    "class beyond the last": lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([1, 3])),
    "unknown reduction": lambda t: t.nn.functional.mse_loss(t.ones(2), t.ones(2), reduction="median"),
    "halves of an odd size": lambda t: t.nn.functional.glu(t.ones(3)),
    "polygamma of negative order": lambda t: t.polygamma(-1, t.ones(2)),
    "negative variance": lambda t: t.nn.functional.gaussian_nll_loss(t.ones(2), t.ones(2), -t.ones(2)),
    "masks of numbers": lambda t: t.ones(2).masked_fill(t.ones(2), 1.0),
    "different widths": lambda t: t.cdist(t.ones(2, 3), t.ones(2, 4)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_both_engines_refuse(what: str) -> None:
    """PyTorch raises, and so do we."""
    for engine in (torch, retrograd):
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)):
            REFUSED[what](engine)
