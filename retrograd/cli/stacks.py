"""Stacks of the ranks recorded on this machine: requested through a file, answered by a thread of each rank.

No process is stopped or inspected from outside: each reads its own stacks, which needs no special permission.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..inspect.lineup.lineup import ranges
from ..inspect.program.frames import is_ours
from ..interpreter import current_frames
from .launcher import Launch

_PATIENCE = 5.0
"""Seconds that a process has to answer."""
_LOOK = 0.05
_OURS = "retrograd-"
"""Prefix of our threads' names."""


def private_folder(name: str) -> Path:
    """Return a temporary folder of this user alone; raises ``OSError`` if it belongs to somebody else."""
    folder = Path(tempfile.gettempdir(), name)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to somebody else")
    return folder


def _folder() -> Path:
    return private_folder(f"retrograd-stacks-{os.getuid()}")


# -- the process that is asked
class Answering:
    """Answers requests for this process's stacks."""

    def __init__(self, launch: Callable[[], Launch | None], script: str) -> None:
        self._launch, self._script = launch, script
        self._beside: Path | None = None
        self.look()

    def look(self) -> None:
        """Answer a pending request; a process that has just become a rank registers itself."""
        if self._beside is None:
            self._begin()
        elif self._beside.with_suffix(".asked").exists():
            self._answer()

    def _begin(self) -> None:
        launch = self._launch()
        if launch is not None:
            with suppress(OSError, AttributeError):  # without a place for it, or user numbers, nobody can ask
                self._beside = _folder() / str(os.getpid())
                description = {"rank": launch.rank, "world_size": launch.world_size, "script": self._script}
                self._write(".rank", description)

    def _answer(self) -> None:
        assert self._beside is not None
        with suppress(OSError):
            self._beside.with_suffix(".asked").unlink()
            self._write(".answer", _stacks())

    def _write(self, suffix: str, plain: Any) -> None:
        """Write a file atomically."""
        assert self._beside is not None
        begun = self._beside.with_suffix(".begun")
        begun.write_text(json.dumps(plain))
        begun.replace(self._beside.with_suffix(suffix))

    def end(self) -> None:
        """Unregister this process."""
        if self._beside is not None:
            _forget(self._beside)


def _stacks() -> list[tuple[str, list[str]]]:
    """Return the name of each thread and its lines, innermost first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = []
    for number, frame in current_frames().items():
        name = names.get(number, f"thread {number}")
        if not name.startswith(_OURS):
            frames = [frame for frame, _ in traceback.walk_stack(frame) if not is_ours(frame.f_code)]
            lines = [f"{one.f_code.co_name} at {one.f_code.co_filename}:{one.f_lineno}" for one in frames]
            found.append((name, [line for line in lines if "<frozen " not in line]))
    return found


def _forget(beside: Path) -> None:
    for suffix in (".rank", ".asked", ".answer", ".begun"):
        with suppress(OSError):
            beside.with_suffix(suffix).unlink()


# -- the one that asks
class Asked(NamedTuple):
    """A rank and its stacks; None if it did not answer."""

    process: int
    rank: int
    script: str
    stacks: list[tuple[str, list[str]]] | None


def ask() -> list[Asked]:
    """Request the stacks of every rank recorded on this machine; return them by program and rank."""
    there = list(_processes())
    for beside, _ in there:
        beside.with_suffix(".asked").touch()
    limit, answers = time.monotonic() + _PATIENCE, dict[Path, Any]()
    while len(answers) < len(there) and time.monotonic() < limit:
        time.sleep(_LOOK)
        for beside, _ in there:
            with suppress(OSError, ValueError):
                answers[beside] = json.loads(beside.with_suffix(".answer").read_text())
                beside.with_suffix(".answer").unlink()
    found = (Asked(int(one.name), about["rank"], about["script"], answers.get(one)) for one, about in there)
    return sorted(found, key=lambda one: (one.script, one.rank))


def _processes() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the files and descriptions of running processes; files of ended ones are removed."""
    for path in sorted(_folder().glob("*.rank")):
        beside = path.with_suffix("")
        try:
            os.kill(int(beside.name), 0)
        except (OSError, ValueError):
            _forget(beside)
            continue
        with suppress(OSError, ValueError):
            yield beside, json.loads(path.read_text())


def stacks_text(found: list[Asked]) -> str:
    """Return stacks as text; ranks with equal stacks are listed together."""
    places: dict[tuple[str, str], list[int]] = {}
    for one in found:
        if one.stacks is None:
            where = f"  does not answer (process {one.process}): a call holds its interpreter, or it is stopped\n"
        else:
            where = "".join(f"  {name}\n" + "".join(f"    {line}\n" for line in lines) for name, lines in one.stacks)
        places.setdefault((one.script, where), []).append(one.rank)
    return "".join(f"{', '.join(ranges(ranks))} of {script}\n{where}" for (script, where), ranks in places.items())
