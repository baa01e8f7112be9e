"""``RequestedRun``: returned by a command that wants a program to be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, Protocol

from .tracers import Tracers

Execute = Callable[[], object]
"""Executes a program that was prepared."""


class RequestedRun(Protocol):
    """A program for ``main``, which calls the three methods in this order, from its own frame.

    click's frames are gone from the stack by then, and ``main`` calls what ``prepare`` returned.
    """

    def begin(self) -> None:
        """Make room for the program, and begin to watch it."""

    @property
    def prepare(self) -> Callable[[], Execute]:
        """Reads and compiles the program, and returns what executes it; what it raises, the program raised."""

    def end(self, error: BaseException | None, tracers: Tracers) -> NoReturn:
        """End the process as the program ended, with what it raised and the functions that traced its calls."""
