"""Makes the Python processes that a program starts record themselves, unnoticed by the program.

A new Python process finds our folder on ``PYTHONPATH`` and imports ``sitecustomize`` from it; another variable tells it
what to do. Both are added to the environment passed to the operating system, not to ``os.environ``, and also where the
program gives a process an environment of its own.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .recording_folder import RecordingFolder

VARIABLE = "RETROGRAD_CHILD_OF"
"""The variable by which a parent passes its instructions."""
PATH = "PYTHONPATH"
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
"""The folder with ``sitecustomize``."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Instructions:
    """What a process passes to the processes that it starts."""

    folder: str
    """Path of the ``RecordingFolder``."""
    label: str
    """The script or module that the parent process runs."""
    plan: dict[str, Any]
    """Arguments of ``recording``."""
    ticket: str = ""
    home: str = str(Path(__file__).resolve().parents[3])
    """The folder that contains this package."""
    python: str = sys.version
    """Version of the Python that this package is installed for."""

    def text(self) -> str:
        """Serialise: one line for each item that ``sitecustomize`` needs, and a line of JSON for the rest."""
        rest = {"label": self.label, "plan": self.plan, "python": self.python}
        return "\n".join([self.folder, self.ticket, self.home, json.dumps(rest)])

    @classmethod
    def read(cls, text: str) -> Instructions:
        """Parse what ``text`` returned."""
        folder, ticket, home, rest = text.split("\n", 3)
        return cls(folder=folder, ticket=ticket, home=home, **json.loads(rest))


class ChildLedger:
    """Counts the processes that start; in each forked child it calls ``forked`` with the child's ticket."""

    def __init__(
        self, instructions: Instructions, forked: Callable[[str], None], keep: Callable[[], object] = bool
    ) -> None:
        self._instructions, self.forked, self.keep = instructions, forked, keep
        self.folder = RecordingFolder(instructions.folder)

    def starting(self) -> str:
        """Put a new ticket into the environment of the next process."""
        ticket = f"{os.getpid()}-{next(_numbers)}"
        self._put(ticket)
        return ticket

    def idle(self) -> None:
        """Remove the ticket from the environment of further processes."""
        self._put("")

    def environment(self, given: Mapping[Any, Any], ticket: str) -> dict[Any, Any]:
        """Return an environment that the program passes, with our variables added; keys may be text or bytes."""
        own = dict(given)
        before = own.pop(os.fsencode(PATH), own.get(PATH))
        return own | self._additions(before, ticket)

    def started(self, ticket: str, process: int | None) -> None:
        """Note that a process with this ticket was started."""
        self.folder.start(ticket, process)

    def unrecorded(self) -> int:
        """Return 0: only the root process counts what was not recorded."""
        return 0

    def withdraw(self) -> None:
        """Restore the program's own environment for processes that start from now on."""
        os.unsetenv(VARIABLE)
        if PATH in os.environ:
            os.putenv(PATH, os.environ[PATH])
        else:
            os.unsetenv(PATH)

    def _put(self, ticket: str) -> None:
        for name, value in self._additions(os.environ.get(PATH), ticket).items():
            os.putenv(name, value)

    def _additions(self, paths: Any, ticket: str) -> dict[str, str]:
        """Return our two variables; beside other folders an empty entry of ``PYTHONPATH`` means the current one."""
        instructions = replace(self._instructions, ticket=ticket).text()
        return {PATH: os.pathsep.join([START, *([os.fsdecode(paths)] if paths else [])]), VARIABLE: instructions}
