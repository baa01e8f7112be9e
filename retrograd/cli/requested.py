"""How a command asks for a program to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recorded import RecordedRun


class RunRequested(BaseException):
    """Takes a program to ``main``, which runs it when click's frames are gone from the stack.

    It is no ordinary exception, which click would take for a failure of the command.
    """

    def __init__(self, run: RecordedRun) -> None:
        super().__init__(run)
        self.run = run
