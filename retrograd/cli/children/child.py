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
from ...inspect.program.signals import reraise_from_handler
from ...inspect.recording.events import Recording
from ...inspect.render import RenderOptions
from ...inspect.render.formats.json_ import RENDERER
from ...inspect.sources.patches import Patches
from ...inspect.writing import write_output
from ...interpreter import ENDS_PROCESSES
from ..environment import Environment
from ..launcher import Launch, launched
from ..signal_saving import saved_on_signals, stopped, where_it_is
from ..stacks import Answering
from .ledger import ChildLedger, Instructions
from .recording_folder import BEGUN, LEFT, MOST, QUIET, SEEN, TRAINED, ProcessFile, RecordingFolder

_TELLING = frozenset({"backward", "error", "lost"})
"""Kinds of events that make a recording worth keeping: quiet recordings are dropped first."""
_here: list[Child] = []
"""The active recording of this process, if it is a child."""


def record(instructions: Instructions, file: ProcessFile) -> None:
    """Record this process from now on, until Python exits."""
    atexit.register(finish)
    Child(instructions, file).begin()


def record_forked(instructions: Instructions, ticket: str) -> None:
    """Record this process, which has just been forked, until ``finish`` is called."""
    Child(instructions, RecordingFolder(instructions.folder).enter(ticket)).begin()


def finish(error: BaseException | None = None) -> None:
    """End the recording of this process, if it is a child; ``error`` is the exception that ended its program."""
    while _here:
        _here.pop().finish(error)


def _instruction() -> tuple[int, int] | None:
    """Return the frame and instruction of the program that the main thread is executing."""
    frame = where_it_is()
    return None if frame is None else (id(frame), frame.f_lasti)


class Child:
    """The recording of this process."""

    def __init__(self, instructions: Instructions, file: ProcessFile) -> None:
        self._instructions, self._file = instructions, file
        self._before = Environment()
        self._process = os.getpid()
        self._watching = ExitStack()
        self._recorded = Recording()
        self._began = _instruction()
        """Where the main thread was when the process was forked; it stays there while it runs none of the program's
        code."""
        self._error: BaseException | None = None
        self._last = getattr(sys, "last_value", None)
        self._patches = Patches()
        self._runs = 0
        self._of_rank = False
        """Whether the program itself is a rank of a job, whose number its children inherit."""

    def begin(self) -> None:
        """Begin to record."""
        _here[:] = [self]
        self._file.become(BEGUN)
        instructions, plan = self._instructions, dict(self._instructions.plan)
        every, self._of_rank = plan.pop("every"), plan.pop("of_rank")
        ledger = ChildLedger(
            instructions, lambda ticket: record_forked(instructions, ticket), lambda: self._save(self._recorded)
        )
        watched = recording(
            instructions.label, after_run=self._flushing(every) if every else None, ledger=ledger, **plan
        )
        self._recorded = self._watching.enter_context(watched)
        self._recorded.complete = False
        answering = Answering(self._launch, instructions.label)
        self._watching.callback(answering.end)
        self._watching.enter_context(saved_on_signals(self._stopped, answering.look))
        self._patches.wrap(os, "_exit", self._wrap_exit)
        module, name = ENDS_PROCESSES
        self._watching.enter_context(patched([Patched(module, name, self._wrap_last_function)]))

    def finish(self, error: BaseException | None) -> None:
        """End the recording and save it in the shared folder."""
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
                    reraise_from_handler(raised)
            self._patches.undo()
            self._recorded.complete = True
            state = self._save(self._recorded)
            if state in MOST:
                self._file.leave()
            else:
                self._file.become(state)

    def _uncaught(self) -> BaseException | None:
        """Return the uncaught exception that ended the program, if there was one."""
        last = getattr(sys, "last_value", None)
        return None if last is self._last else last

    def _launch(self) -> Launch | None:
        """Return this process's rank and job size, or None while it is not a rank."""
        distributed = sys.modules.get("torch.distributed")
        if self._of_rank or distributed is None or not (distributed.is_available() and distributed.is_initialized()):
            return None
        return launched() or Launch(distributed.get_rank(), distributed.get_world_size())

    def _name(self, recorded: Recording) -> None:
        """Set the recording's process name, as multiprocessing calls it, and its rank."""
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
        """Write the recording so far; return the state of this process's file."""
        self._name(recorded)
        kinds = {event.kind for event in recorded.events}
        if not kinds - {"missed"}:
            return SEEN
        state = QUIET if kinds.isdisjoint(_TELLING) else TRAINED
        if not self._file.has_room(state):
            return LEFT
        try:
            write_output(RENDERER.pieces(recorded, RenderOptions()), str(self._file.path(state)))
        except Exception as failure:  # no space, or the program is over and its folder gone
            reraise_from_handler(failure)
            return BEGUN
        return state

    def _stopped(self, name: str) -> None:
        """Save the recording when a signal ends this process.

        Idle workers are usually ended by a signal; their recordings do not mention it.
        """
        idle = _instruction() in (None, self._began)
        self._save(self._recorded if idle else stopped(self._recorded, name))

    def _flushing(self, every: int) -> Callable[[Recording], None]:
        """Return a callback that saves the recording after every ``every`` backward passes."""

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
