"""The one watcher of PyTorch in this process: installed for the first watch, removed after the last.

Nothing that goes wrong while watching reaches the program: it becomes an ``"error"`` event of the recording.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .....locks import reentrant_lock
from ....program.frames import forget_judgements
from ....program.spelling import forget_places
from ....program.stacks import forget_stacks
from ...base import Origins, Sink, Source
from ...importing import AfterImport
from ...naming import NameMemory
from ..library import loaded_torch
from ..objects.collectives import let_collectives_end
from ..private import private
from ..problems import LISTENERS, safely, unseen
from ..values.readbacks import READBACKS
from .installation import Installation
from .watched_threads import WatchedThreads
from .watches import Lasting, Watch, Watches


class Watcher:
    """Begins and ends watches, on any thread, before or after the program has imported PyTorch."""

    def __init__(self) -> None:
        self._lock = reentrant_lock()
        self._watches = Watches()
        self._threads = WatchedThreads(self._watches)
        self._lasting = Lasting()
        self._installed: Installation | None = None
        self._import = AfterImport("torch", self._torch_arrived)

    # -- what is known while somebody watches
    def origins(self) -> Origins | None:
        """Return the origins of nodes."""
        return None if self._installed is None else self._installed.tables

    def modules(self) -> list[tuple[str, Any]]:
        """Return the outermost modules seen so far with their names."""
        return [] if self._installed is None else self._installed.scopes.modules()

    @property
    def memory(self) -> NameMemory | None:
        """The names found so far."""
        return None if self._installed is None else self._installed.memory

    # -- coming and going
    @contextmanager
    def watch(self, sink: Sink, source: Source, *, every_thread: bool, level: str) -> Iterator[None]:
        """Watch until the block ends."""
        thread = None if every_thread else threading.get_ident()
        me = Watch(sink, source, thread, level, self._lasting)
        self._begin(me)
        try:
            yield
        finally:
            if self._installed is not None:
                unseen(READBACKS.read)
                if level == "full":
                    unseen(me.strays.look, self.modules())
            self._end(me)

    def _begin(self, watch: Watch) -> None:
        with self._lock:
            self._watches.append(watch)
            if len(self._watches) == 1:
                LISTENERS.append(self._tell)
            if loaded_torch() is not None:
                safely(self._start)
            elif len(self._watches) == 1:
                self._import.begin()

    def _torch_arrived(self) -> None:
        """Handle the import of PyTorch by the program, on this thread."""
        forget_judgements()
        with self._lock:
            if self._watches:
                safely(self._start)

    def _start(self) -> None:
        """Watch the current thread, and install what the watches need."""
        if self._installed is None:
            self._installed = Installation(self._watches, self._threads, self._lasting)
            self._installed.install()
        self._threads.join(self._installed.tables)
        self._installed.serve()
        for watch in self._watches:
            watch.miss(private().lost)

    def _tell(self, sentence: str) -> None:
        """Note a failure of recording in each recording."""
        for watch in tuple(self._watches):
            watch.miss([sentence], again=True)

    def _end(self, watch: Watch) -> None:
        with self._lock:
            if watch.forward is not None:
                safely(watch.forward.close)
            self._watches.remove(watch)
            if self._installed is not None:
                safely(self._installed.serve)
            if not self._watches.any_sees():
                safely(self._threads.leave)
            if not self._watches:
                LISTENERS.remove(self._tell)
                self._import.end()
                self._stop()

    def _stop(self) -> None:
        """Remove everything after the last watch, and drop all caches."""
        if self._installed is not None:
            self._installed.undo()
            self._installed = None
            safely(let_collectives_end)
        self._lasting.forget()
        forget_judgements()
        forget_places()
        forget_stacks()


WATCHER = Watcher()
