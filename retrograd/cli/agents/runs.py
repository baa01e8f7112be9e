"""One command of ours as a process of its own: files of one folder, limited time, bounded output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import UsageError

LONGEST_RUN = 900.0
"""Seconds that a program may be given."""
MOST_OUTPUT = 4_000
"""Characters of what the program printed that are passed on: its end."""
MOST_RESULT = 200_000
"""Characters of a result; of a longer one lists are cut, or text."""


class Workspace:
    """The folder whose files tools may name."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def path(self, name: str) -> Path:
        """Return the file that a tool names, all links followed; raises ``UsageError`` for one outside."""
        found = (self.root / name).resolve()
        if not found.is_relative_to(self.root):
            raise UsageError(
                f"{name!r} is outside of {self.root}.", "Name a file in the folder that the server serves."
            )
        return found

    def existing(self, name: str) -> Path:
        """Return a file that is there."""
        found = self.path(name)
        if not found.is_file():
            raise UsageError(f"There is no file {name!r} in {self.root}.", "Name a script or a recording.")
        return found

    async def run(self, arguments: list[str], seconds: float) -> dict[str, Any]:
        """Run ``retrograd ARGUMENTS`` and return its exit code and what it printed.

        It gets no standard input, and a file for all that is printed, so nothing of that reaches the protocol.
        When time is up, or the request is cancelled, everything that it started is killed.
        """
        if not 0 < seconds <= LONGEST_RUN:
            raise UsageError(f"A limit of {seconds} seconds was given.", f"Give at most {LONGEST_RUN:.0f}.")
        with tempfile.TemporaryFile() as printed:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "retrograd", *arguments),
                cwd=self.root,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
            try:
                await asyncio.wait_for(process.wait(), seconds)
            except TimeoutError:
                raise UsageError(
                    f"The program ran for more than {seconds:g} seconds and was ended. It printed: {_end(printed)}",
                    "Give it fewer steps, or more seconds.",
                ) from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            return {"exit_code": process.returncode, "output": _end(printed)}


def _end(printed: Any) -> str:
    """Return the end of what was printed."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(size - MOST_OUTPUT, 0))
    return str(printed.read().decode(errors="replace"))


def read_json(path: Path, ran: dict[str, Any]) -> dict[str, Any]:
    """Return what a command wrote; raises ``UsageError`` with what it printed if it wrote nothing."""
    if not path.exists() or not path.stat().st_size:
        raise UsageError(f"Nothing was written (exit code {ran['exit_code']}): {ran['output']}", "Fix that first.")
    loaded = json.loads(path.read_text(encoding="utf-8"))
    return loaded if isinstance(loaded, dict) else {"result": loaded}


def bounded(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of at most ``MOST_RESULT`` characters: lists are halved, longest first, and ``cut`` says so."""
    while len(json.dumps(result)) > MOST_RESULT:
        lists = list(_lists(result))
        longest = max(lists, key=lambda one: len(json.dumps(one)) if len(one) > 1 else 0, default=[])
        if len(longest) < 2:
            return {"cut": True, "text": json.dumps(result)[: MOST_RESULT // 2]}
        del longest[len(longest) // 2 :]
        result["cut"] = True
    return result


def _lists(value: Any) -> list[list[Any]]:
    """Return all lists in a result."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            found.append(one)
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return found
