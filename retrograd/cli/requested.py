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
        """Prepare the process for the program, and start watching it."""

    @property
    def prepare(self) -> Callable[[], Execute]:
        """Read and compile the program, and return the function that executes it; raises what that raises."""

    def end(self, error: BaseException | None, tracers: Tracers) -> NoReturn:
        """End the process as the program ended, with what it raised and the functions that traced its calls."""
