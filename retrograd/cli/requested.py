"""How a command asks for a program to be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, Protocol

from .tracers import Tracers

Execute = Callable[[], object]
"""Executes a program that was prepared."""
Prepare = Callable[[], Execute]
"""Reads and compiles a program; what that raises, the program raised."""


class RequestedRun(Protocol):
    """A program that ``main`` is to run in its own frame, between the two."""

    def begin(self) -> Prepare:
        """Return what prepares the program."""

    def end(self, error: BaseException | None, tracers: Tracers) -> NoReturn:
        """End the process as the program ended, with what it raised and the functions that traced its calls."""


class RunRequested(BaseException):
    """Takes a program to ``main``, which runs it when click's frames are gone from the stack.

    It is no ordinary exception, which click would take for a failure of the command.
    """

    def __init__(self, run: RequestedRun) -> None:
        super().__init__(run)
        self.run = run
