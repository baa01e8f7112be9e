"""Runs one program on both engines and holds the outcomes against each other, errors and warnings included.

For programs as ``both_engines`` describes them that may raise: what they return, or the exception, must be the same.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import pytest
from both_engines import Program, assert_same, plain

import retrograd


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


def assert_agree(program: Program, *, phrase: str = "") -> Outcome:
    """Both engines must give the same; ``phrase`` must then be in both error messages. Returns our outcome."""
    torch = pytest.importorskip("torch")
    wanted, found = outcome(program, torch), outcome(program, retrograd)
    assert (wanted.error, wanted.warned) == (found.error, found.warned), f"torch: {wanted}\nretrograd: {found}"
    if phrase:
        assert phrase in wanted.message
        assert phrase in found.message
    assert_same(wanted.value, found.value, f"\n  torch:     {wanted}\n  retrograd: {found}")
    return found
