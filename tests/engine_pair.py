"""Runs one program on PyTorch and on this engine and holds the outcomes against each other.

A program is a function of the engine: it is called once with ``torch`` and once with ``retrograd`` and uses only
what it is given. What it returns, or the exception that it raises, must be the same.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import retrograd

Program = Callable[[Any], Any]


@dataclass(frozen=True)
class Outcome:
    """What a program returned, in plain values, or raised; and the categories of its warnings."""

    value: Any
    error: str
    message: str
    warned: tuple[str, ...]


def outcome(program: Program, engine: Any) -> Outcome:
    """Run a program on one engine."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value, error, message = plain(program(engine)), "", ""
        except Exception as raised:
            value, error, message = None, type(raised).__name__, str(raised)
    # PyTorch's own batching and compiling layers speak of themselves; there is no such layer here.
    ours = [entry for entry in caught if not re.search(r"vmap|torch\.jit", str(entry.message))]
    warned = tuple(entry.category.__name__ for entry in ours)
    return Outcome(value, error, message, warned)


def plain(value: Any) -> Any:
    """Tensors as (shape, dtype, requires_grad, array), containers as lists, all else as it is."""
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        copied = value.detach().clone()
        array = np.array(copied.resolve_conj().numpy() if hasattr(copied, "resolve_conj") else copied.numpy())
        return (tuple(value.shape), str(value.dtype), bool(value.requires_grad), array)
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def assert_agree(program: Program, *, phrase: str = "") -> Outcome:
    """Both engines must give the same; ``phrase`` must then be in both error messages. Returns our outcome."""
    torch = pytest.importorskip("torch")
    wanted, found = outcome(program, torch), outcome(program, retrograd)
    assert (wanted.error, wanted.warned) == (found.error, found.warned), f"torch: {wanted}\nretrograd: {found}"
    if phrase:
        assert phrase in wanted.message
        assert phrase in found.message
    _assert_equal(wanted.value, found.value)
    return found


def _assert_equal(wanted: Any, found: Any) -> None:
    assert type(wanted) is type(found), f"{wanted!r} is not {found!r}"
    if isinstance(wanted, (list, tuple)):
        assert len(wanted) == len(found), f"{wanted!r} is not {found!r}"
        for a, b in zip(wanted, found, strict=True):
            _assert_equal(a, b)
    elif isinstance(wanted, np.ndarray):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
    elif isinstance(wanted, dict):
        assert list(wanted) == list(found)
        _assert_equal(list(wanted.values()), list(found.values()))
    else:
        assert wanted == found
