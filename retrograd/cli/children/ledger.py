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

from .nest import Nest

VARIABLE = "RETROGRAD_CHILD_OF"
"""The variable by which a parent passes its instructions."""
PATH = "PYTHONPATH"
START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
"""The folder with ``sitecustomize``."""

_numbers = itertools.count()


@dataclass(frozen=True)
class Told:
    """What a process passes to those that it starts."""

    folder: str
    """The nest."""
    label: str
    """What the parent process runs."""
    plan: dict[str, Any]
    """How to record."""
    ticket: str = ""
    home: str = str(Path(__file__).resolve().parents[3])
    """Where this package is found."""
    python: str = sys.version
    """The Python that it is installed for."""

    def text(self) -> str:
        """Return it in a line for each thing that ``sitecustomize`` needs, and one of JSON for the rest."""
        rest = {"label": self.label, "plan": self.plan, "python": self.python}
        return "\n".join([self.folder, self.ticket, self.home, json.dumps(rest)])

    @classmethod
    def read(cls, text: str) -> Told:
        """Return what ``text`` says."""
        folder, ticket, home, rest = text.split("\n", 3)
        return cls(folder=folder, ticket=ticket, home=home, **json.loads(rest))


class ChildLedger:
    """Notes which processes start; in each child that is forked it calls ``forked`` with its ticket."""

    def __init__(self, told: Told, forked: Callable[[str], None], keep: Callable[[], object] = bool) -> None:
        self._told, self.forked, self.keep = told, forked, keep
        self.nest = Nest(told.folder)

    def starting(self) -> str:
        """Put a new ticket where the next process finds it."""
        ticket = f"{os.getpid()}-{next(_numbers)}"
        self._put(ticket)
        return ticket

    def idle(self) -> None:
        """Put what a process finds that starts without a ticket."""
        self._put("")

    def environment(self, given: Mapping[Any, Any], ticket: str) -> dict[Any, Any]:
        """Return an environment that the program gives, with what is added; its keys may be text or bytes."""
        own = dict(given)
        before = own.pop(os.fsencode(PATH), own.get(PATH))
        return own | self._additions(before, ticket)

    def started(self, ticket: str, process: int | None) -> None:
        """Note a process that counts."""
        self.nest.start(ticket, process)

    def unrecorded(self) -> int:
        """Return nothing: whoever made the nest counts, in the end."""
        return 0

    def withdraw(self) -> None:
        """Let what starts from now on find what the program has in its environment."""
        os.unsetenv(VARIABLE)
        if PATH in os.environ:
            os.putenv(PATH, os.environ[PATH])
        else:
            os.unsetenv(PATH)

    def _put(self, ticket: str) -> None:
        for name, value in self._additions(os.environ.get(PATH), ticket).items():
            os.putenv(name, value)

    def _additions(self, paths: Any, ticket: str) -> dict[str, str]:
        """Return the two variables; an empty path means the current folder where there is another beside it."""
        told = replace(self._told, ticket=ticket).text()
        return {PATH: os.pathsep.join([START, *([os.fsdecode(paths)] if paths else [])]), VARIABLE: told}
