"""Data-less tensors: a thread-local mode in which custom operators run their fake kernels, and fake tensors.

A stand-in ("fake") is an ordinary tensor whose array has the right shape and dtype and stride 0 everywhere, so it
costs one element of memory whatever its shape.  While the mode is on, every custom operator runs the kernel that
works out shapes and dtypes instead of its real one; ordinary operators simply compute on the zeros.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.base import wrap


class _Local(threading.local):
    on = False
    refusal: str | None = None


_LOCAL = _Local()


def is_fake_mode() -> bool:
    """Whether custom operators run their fake kernels in this thread."""
    return _LOCAL.on


@contextmanager
def fake_mode() -> Iterator[None]:
    """Run custom operators' fake kernels inside the block."""
    was = _LOCAL.on
    _LOCAL.on = True
    try:
        yield
    finally:
        _LOCAL.on = was


@contextmanager
def refuse_context(message: str) -> Iterator[None]:
    """Inside the block ``get_ctx`` raises ``RuntimeError`` with this message."""
    before = _LOCAL.refusal
    _LOCAL.refusal = message
    try:
        yield
    finally:
        _LOCAL.refusal = before


def get_ctx() -> None:
    """The context of a fake kernel: always ``None``, since sizes here are numbers and never symbols."""
    if _LOCAL.refusal is not None:
        raise RuntimeError(_LOCAL.refusal)


def fake_like(tensor: Any) -> Any:
    """A fake tensor with the shape, dtype and ``requires_grad`` of ``tensor``, without data."""
    array = np.zeros((), dtype=tensor._array.dtype)
    shape = tuple(tensor.shape)
    fake = wrap(np.lib.stride_tricks.as_strided(array, shape, (0,) * len(shape)) if shape else array)
    return fake._requiring_grad(True) if tensor.requires_grad else fake
