"""In a new Python process: waits for the first import of an engine, and counts the processes that it starts.

A process that never imports such a thing, such as a launcher, pays next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack
from dataclasses import replace

from ...inspect.process.started_processes import counting_processes
from ...inspect.sources.importing import AfterImport
from .ledger import ChildLedger, Instructions
from .recording_folder import BEGUN, SEEN, ProcessFile, RecordingFolder

_ENGINES = ("torch", "retrograd.engine")
_waiting: list[_Waiting] = []


def wait(text: str, name: str) -> None:
    """Wait for an engine; ``name`` is this process's file in the shared folder, ``text`` the parent's instructions."""
    instructions = Instructions.read(text)
    file = ProcessFile(RecordingFolder(instructions.folder), name, SEEN)
    if instructions.python != sys.version:
        file.become(BEGUN)  # never to be ended
        return
    _waiting.append(_Waiting(replace(instructions, label=_label(instructions)), file))
    _waiting[0].begin()


def stand_down() -> None:
    """Record nothing in this process, which is retrograd's own."""
    for one in _waiting:
        one.end()
    _waiting.clear()


def _label(instructions: Instructions) -> str:
    """Return what this process runs; a worker of multiprocessing runs what its parent does."""
    words = sys.orig_argv[1:]
    if "--multiprocessing-fork" in words or any("multiprocessing.forkserver" in word for word in words):
        return instructions.label
    if "-m" in words[:-1]:
        return f"-m {words[words.index('-m') + 1]}"
    return sys.argv[0] or "-c"


class _Waiting:
    """Waits until an engine is imported."""

    def __init__(self, instructions: Instructions, file: ProcessFile) -> None:
        self._instructions, self._file = instructions, file
        self._ledger = ChildLedger(instructions, self._forked)
        self._stack = ExitStack()
        self._engines = [AfterImport(engine, self._record) for engine in _ENGINES if engine not in sys.modules]

    def begin(self) -> None:
        """Begin to wait; if an engine is imported already, record at once."""
        if len(self._engines) < len(_ENGINES):
            self._record()
            return
        for one in self._engines:
            one.begin()
        self._stack.enter_context(counting_processes(lambda: None, self._ledger))

    def end(self) -> None:
        """Stop waiting."""
        for one in self._engines:
            one.end()
        self._stack.close()

    def _forked(self, ticket: str) -> None:
        """Continue to wait in a forked child, with its own file."""
        self._file = self._ledger.folder.enter(ticket)

    def _record(self) -> None:
        """Replace waiting by recording."""
        self.end()
        _waiting.clear()
        importlib.import_module(f"{__package__}.child").record(self._instructions, self._file)
