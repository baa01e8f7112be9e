"""Records a process that a recorded program started, and saves the recording when the process ends."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ...inspect.process.late_patches import Patched, patched
from ...inspect.process.recorder import recording
from ...inspect.program.signals import let_pass
from ...inspect.recording.events import Recording
from ...inspect.render import RenderOptions
from ...inspect.render.formats.json_ import RENDERER
from ...inspect.sources.patches import Patches
from ...inspect.writing import write_output
from ...interpreter import ENDS_PROCESSES
from ..environment import Environment
from ..launcher import Launch, launched
from ..lifeline import lifeline, stopped, where_it_is
from ..stacks import Answering
from .ledger import ChildLedger, Told
from .nest import BEGUN, LEFT, MOST, QUIET, SEEN, TRAINED, Nest, Place

_TELLING = frozenset({"backward", "error", "lost"})
"""Kinds of events that make a recording worth keeping before others."""
_here: list[Child] = []
"""What records this process, if it is a child."""


def record(told: Told, place: Place) -> None:
    """Record this process from now on, until python ends."""
    atexit.register(finish)
    Child(told, place).begin()


def record_forked(told: Told, ticket: str) -> None:
    """Record this process, which was forked just now, until somebody ends it."""
    Child(told, Nest(told.folder).enter(ticket)).begin()


def finish(error: BaseException | None = None) -> None:
    """End the recording of this process, if it is a child; ``error`` is what ended its program, if that is known."""
    while _here:
        _here.pop().finish(error)


def _instruction() -> tuple[int, int] | None:
    """Return the frame and instruction of the program that the main thread is executing."""
    frame = where_it_is()
    return None if frame is None else (id(frame), frame.f_lasti)


class Child:
    """The recording of this process."""

    def __init__(self, told: Told, place: Place) -> None:
        self._told, self._place = told, place
        self._before = Environment()
        self._process = os.getpid()
        self._watching = ExitStack()
        self._recorded = Recording()
        self._began = _instruction()
        """Where it was forked: it is there for good while it runs nothing of the program's."""
        self._error: BaseException | None = None
        self._last = getattr(sys, "last_value", None)
        self._patches = Patches()
        self._runs = 0
        self._of_rank = False
        """Whether the program itself is a rank of a job, whose number its children inherit."""

    def begin(self) -> None:
        """Begin to record."""
        _here[:] = [self]
        self._place.become(BEGUN)
        plan = dict(self._told.plan)
        every, self._of_rank = plan.pop("every"), plan.pop("of_rank")
        ledger = ChildLedger(
            self._told, lambda ticket: record_forked(self._told, ticket), lambda: self._save(self._recorded)
        )
        watched = recording(self._told.label, after_run=self._flushing(every) if every else None, ledger=ledger, **plan)
        self._recorded = self._watching.enter_context(watched)
        self._recorded.complete = False
        answering = Answering(self._launch, self._told.label)
        self._watching.callback(answering.end)
        self._watching.enter_context(lifeline(self._stopped, answering.look))
        self._patches.wrap(os, "_exit", self._wrap_exit)
        module, name = ENDS_PROCESSES
        self._watching.enter_context(patched([Patched(module, name, self._wrap_last_function)]))

    def finish(self, error: BaseException | None) -> None:
        """End the recording and leave it in the nest."""
        if os.getpid() != self._process:
            return
        error = error or self._error or self._uncaught()
        with self._before.restored():
            try:
                with self._watching:
                    if error is not None:
                        raise error
            except BaseException as raised:
                if raised is not error:
                    let_pass(raised)
            self._patches.undo()
            self._recorded.complete = True
            state = self._save(self._recorded)
            if state in MOST:
                self._place.leave()
            else:
                self._place.become(state)

    def _uncaught(self) -> BaseException | None:
        """Return the exception that python has shown when it ended the program."""
        last = getattr(sys, "last_value", None)
        return None if last is self._last else last

    def _launch(self) -> Launch | None:
        """Return which rank of a job this process is by now, if it is one."""
        distributed = sys.modules.get("torch.distributed")
        if self._of_rank or distributed is None or not (distributed.is_available() and distributed.is_initialized()):
            return None
        return launched() or Launch(distributed.get_rank(), distributed.get_world_size())

    def _name(self, recorded: Recording) -> None:
        """Say in a recording which process this is: what multiprocessing calls it, and its rank."""
        running = sys.modules.get("multiprocessing.process")
        if running is not None and running.parent_process() is not None:
            recorded.process = str(running.current_process().name)
        launch = None if self._of_rank else launched()
        if launch is not None:
            recorded.rank, recorded.world_size = launch.rank, launch.world_size
            return
        for event in recorded.events:
            if event.kind == "collective" and event.data.get("group") == 0:
                recorded.rank, recorded.world_size = event.data.get("rank"), event.data.get("group_size")
                return

    def _save(self, recorded: Recording) -> str:
        """Write the recording as it is now; return what there is of this process then."""
        self._name(recorded)
        kinds = {event.kind for event in recorded.events}
        if not kinds - {"missed"}:
            return SEEN
        state = QUIET if kinds.isdisjoint(_TELLING) else TRAINED
        if not self._place.has_room(state):
            return LEFT
        try:
            write_output(RENDERER.pieces(recorded, RenderOptions()), str(self._place.path(state)))
        except Exception as failure:  # no space, or the program is over and its folder gone
            let_pass(failure)
            return BEGUN
        return state

    def _stopped(self, name: str) -> None:
        """Save what there is when a signal ends this process: whoever started it may do that when it is idle."""
        idle = _instruction() in (None, self._began)
        self._save(self._recorded if idle else stopped(self._recorded, name))

    def _flushing(self, every: int) -> Callable[[Recording], None]:
        """Return what saves after every so many backward passes."""

        def flush(recorded: Recording) -> None:
            self._runs += 1
            if self._runs % every == 0:
                self._save(recorded)

        return flush

    def _wrap_exit(self, original: Callable[..., None]) -> Callable[..., None]:
        def _exit(*args: Any, **kwargs: Any) -> None:
            finish()
            original(*args, **kwargs)

        return _exit

    def _wrap_last_function(self, original: Callable[..., None]) -> Callable[..., None]:
        """Wrap the last function of a ``multiprocessing`` process, called while its exception is handled."""

        def _exit_function(*args: Any, **kwargs: Any) -> None:
            self._error = sys.exception()
            original(*args, **kwargs)

        return _exit_function
