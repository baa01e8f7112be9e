"""Exceptions that a worker raised and the program raises again: the message contains the worker's traceback.

PyTorch writes such messages for workers of a ``DataLoader`` and replicas of a module, and our engine does as well.
"""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

from ..graphs.graph import SourceLine
from .frames import is_users_file

_RELAYED = re.compile(
    r"Caught [\w.]+ (?P<where>in .+)\.\nOriginal (?P<traceback>Traceback \(most recent call last\):\n.*)", re.S
)
_ENTRY = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?:    (?P<text>.*)\n)?', re.M)
_LAST = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?\Z", re.M | re.S)
"""What follows the entries of a traceback."""
_AGAIN = "Traceback (most recent call last):\n"


class Relayed(NamedTuple):
    """What a worker raised."""

    where: str
    type: str
    message: str
    line: SourceLine | None
    """The innermost line of the program's."""
    raised_in: str
    """Module of the library whose Python code raised; empty where compiled code did, or the program itself."""
    by_program: bool
    """The program's own ``raise`` or ``assert``."""

    def data(self) -> dict[str, Any]:
        """Return the data of the event that describes it."""
        told = {"type": self.type, "message": self.message, "worker": self.where}
        return {**told, "raised_in": self.raised_in, "by_program": self.by_program}


def relayed(message: str) -> Relayed | None:
    """Return the exception that a worker raised, if a message contains one."""
    found = _RELAYED.match(message)
    if found is None:
        return None
    traceback = found["traceback"].rpartition(_AGAIN)[2]  # of an exception with a cause that of itself comes last
    entries = list(_ENTRY.finditer(traceback))
    rest = "\n".join(line for line in traceback[entries[-1].end() if entries else 0 :].split("\n") if line.strip("^~ "))
    last = _LAST.search(rest)
    if last is None:
        return None
    users = [one for one in entries if is_users_file(one["file"])]
    line = SourceLine(users[-1]["file"], int(users[-1]["line"]), users[-1]["function"]) if users else None
    own = bool(users) and users[-1] is entries[-1]
    module = "" if own or not entries else _module_of(entries[-1]["file"])
    by_program = own and (users[-1]["text"] or "").startswith(("raise", "assert"))
    return Relayed(found["where"], last["type"], last["message"] or "", line, module, by_program)


def _module_of(file: str) -> str:
    """Return the name of the loaded module of a file."""
    modules = list(sys.modules.items())
    return next((name for name, module in modules if getattr(module, "__file__", None) == file), "")
