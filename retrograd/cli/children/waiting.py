"""Waits, in a new Python process, for the first import of something that is recorded, and notices processes it starts.

A process that never imports such a thing, such as a launcher, pays next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack
from dataclasses import replace

from ...inspect.process.started_processes import counting_processes
from ...inspect.sources.importing import AfterImport
from .ledger import ChildLedger, Told
from .nest import BEGUN, SEEN, Nest, Place

_ENGINES = ("torch", "retrograd.engine")
_waiting: list[_Waiting] = []


def wait(text: str, name: str) -> None:
    """Wait for an engine, in the process whose file in the nest has this name and whose parent passed this text."""
    told = Told.read(text)
    place = Place(Nest(told.folder), name, SEEN)
    if told.python != sys.version:
        place.become(BEGUN)  # never to be ended
        return
    _waiting.append(_Waiting(replace(told, label=_label(told)), place))
    _waiting[0].begin()


def stand_down() -> None:
    """Record nothing in this process: it is retrograd's own."""
    for one in _waiting:
        one.end()
    _waiting.clear()


def _label(told: Told) -> str:
    """Return what this process runs; one of multiprocessing runs what its parent does."""
    words = sys.orig_argv[1:]
    if "--multiprocessing-fork" in words or any("multiprocessing.forkserver" in word for word in words):
        return told.label
    if "-m" in words[:-1]:
        return f"-m {words[words.index('-m') + 1]}"
    return sys.argv[0] or "-c"


class _Waiting:
    """Waits until an engine is imported."""

    def __init__(self, told: Told, place: Place) -> None:
        self._told, self._place = told, place
        self._ledger = ChildLedger(told, self._forked)
        self._stack = ExitStack()
        self._engines = [AfterImport(engine, self._record) for engine in _ENGINES if engine not in sys.modules]

    def begin(self) -> None:
        """Begin to wait; what is there already is recorded at once."""
        if len(self._engines) < len(_ENGINES):
            self._record()
            return
        for one in self._engines:
            one.begin()
        self._stack.enter_context(counting_processes(lambda: None, self._ledger))

    def end(self) -> None:
        """Wait no more."""
        for one in self._engines:
            one.end()
        self._stack.close()

    def _forked(self, ticket: str) -> None:
        """Go on in a child that was forked."""
        self._place = self._ledger.nest.enter(ticket)

    def _record(self) -> None:
        """Begin to record in earnest."""
        self.end()
        _waiting.clear()
        importlib.import_module(f"{__package__}.child").record(self._told, self._place)
