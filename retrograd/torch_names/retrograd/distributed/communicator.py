"""``Communicator``: the interface that data-parallel training needs from a library for many processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

_FIRST_NAP, _LONGEST_NAP = 20e-6, 1e-3  # seconds between two looks at a reduction that is under way
_SPINS = 200
"""Looks without a nap in between, since most reductions are nearly done when they are waited for."""


class Pending(Protocol):
    """A reduction that is under way."""

    def done(self) -> bool:
        """Whether it has ended; asking also lets it go on where the engine has no thread of its own."""

    def abandon(self) -> None:
        """Nobody waits for it any longer: see to it that the process can still end."""


class Communicator(Protocol):
    """A group of processes that all call the same methods in the same order.

    Arrays are contiguous NumPy arrays of float32, float64 or complex numbers, changed in place.
    """

    rank: int
    """Number of this process, from 0."""
    world_size: int
    """Number of processes."""

    def allreduce(self, array: np.ndarray) -> Pending:
        """Begin to replace ``array`` by its sum over all ranks; it must live and stay untouched until that is done."""

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace ``array`` by that of ``root``."""

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """Return every rank's ``value`` (anything that can be pickled) on ``root``, ``None`` elsewhere."""

    def barrier(self) -> None:
        """Return when all ranks have come here."""


def wait_until(done: Callable[[], bool], seconds: float | None) -> bool:
    """Ask ``done`` until it says yes; False if that took more than ``seconds`` (``None``: no limit)."""
    for _ in range(_SPINS):
        if done():
            return True
    end = None if seconds is None else time.monotonic() + seconds
    nap = _FIRST_NAP
    while not done():
        if end is not None and time.monotonic() > end:
            return False
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP)
    return True
