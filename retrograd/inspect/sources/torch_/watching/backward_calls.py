"""The gateway of all backward runs: each run is reported before and after, and its calls are listened to."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....garbage import collector_paused
from ....program.frames import user_frame
from ...origins import OriginTables
from ..backward.runs import RunWriter, asked_of, refused
from ..calls.calls import is_traced
from ..own_work import own_work
from ..private import private
from ..problems import safely, unseen
from .mode import put_on, take_off
from .scopes import Scopes
from .watched_threads import WatchedThreads
from .watches import Watches


class BackwardCalls:
    """Stands around ``_engine_run_backward`` while somebody watches."""

    def __init__(self, watches: Watches, threads: WatchedThreads, tables: OriginTables, scopes: Scopes) -> None:
        self._watches, self._thread, self._tables = watches, threads.here, tables
        self._pause, self._scopes = threads.pause, scopes

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make PyTorch's function report each run; what it returns or raises passes on unchanged."""

        def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if is_traced() or not self._watches.any_sees():
                return original(t_outputs, *args, **kwargs)
            frame = user_frame(getframe(1))
            writers = safely(self._begin, t_outputs, args, kwargs, frame)
            error: BaseException | None = None
            given: Any = None
            try:
                given = original(t_outputs, *args, **kwargs)
                return given
            except BaseException as raised:
                error = raised
                raise
            finally:
                if writers is not None:
                    safely(self._end, writers, error, frame)
                    for writer in writers:
                        unseen(writer.returned, given, frame)
                given = error = frame = None

        return _engine_run_backward

    def wrap_gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make what prepares the gradients that a run starts with report the runs that it refuses."""

        def _make_grads(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(outputs, *args, **kwargs)
            except Exception as error:
                if not is_traced() and self._watches.any_sees():
                    unseen(self._refused, outputs, getframe(2), error)  # below the wrapper that patches put here
                raise

        return _make_grads

    def _refused(self, outputs: Any, caller: FrameType, error: BaseException) -> None:
        """Report a run that PyTorch refused before its engine was asked."""
        api, frame = "backward" if caller.f_code.co_name == "backward" else "grad", user_frame(caller)
        for watch in self._watches.seeing():
            refused(watch, outputs, api, error, frame)

    def _begin(self, roots: Any, args: Any, kwargs: Any, frame: FrameType | None) -> list[RunWriter]:
        """A run begins: report it, and listen to what is called during it."""
        here = self._thread
        with own_work():
            asked = asked_of(roots, args, kwargs)
        self._pause.end()
        marks = self._tables.here()
        if here.stack:
            self._scopes.forget_stale(frame, marks, here.stack)
        marks.gap(private().sequence_number(), marks.line)
        nested = bool(here.outer)
        writers = [RunWriter(watch, roots, asked, marks, nested=nested) for watch in self._watches.seeing()]
        with collector_paused():  # also until what was looked at is gone again
            for writer in writers:
                unseen(writer.begin, frame)
                if writer.watch.level == "full":
                    unseen(writer.watch.strays.run_begins, self._scopes.modules)
        listening = here.mode is not None and bool(here.mode.listeners) and put_on(here.mode)
        here.outer.append((here.inside.run, listening))
        here.inside.run = writers[-1].number if writers else None
        return writers

    def _end(self, writers: list[RunWriter], error: BaseException | None, frame: FrameType | None) -> None:
        """A run is over: go back to what was in force around it, and report it."""
        here = self._thread
        here.inside.run, listening = here.outer.pop()
        if listening:
            take_off(here.mode)
        # Made by the run itself: create_graph, checkpoints.
        self._tables.here().gap(private().sequence_number(), frame)
        with collector_paused():
            for writer in writers:
                unseen(writer.end, error, frame)
