"""Runs a program while both engines are watched, reports on it, and exits with its exit code."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ..inspect.process.recorder import error_event, recording
from ..inspect.recording.events import Recording
from ..inspect.recording.kept_steps import KEPT
from ..inspect.sources.patches import Patches
from ..inspect.sources.torch_.objects.digests import PATIENCE, Digests, digests_compared
from . import messages
from .children.child import finish
from .children.gathered import Children, Process
from .children.waiting import stand_down
from .interrupts import leave_by_interrupt
from .launcher import Launch
from .requested import Execute
from .runner import Ending, Run, leave
from .signal_saving import UNFINISHED, place, saved_on_signals, stopped
from .stacks import Answering
from .target import Target
from .tracers import NONE, Tracers

_LOOK = 0.5
"""Seconds between two checks."""
_STILL = 6
"""Checks with the same position after which the recording is saved; doubled each time."""


@contextmanager
def saved_when_still(save: Callable[[], None]) -> Iterator[None]:
    """Call ``save``, on a thread of our own, whenever the main thread has been at one line for long."""
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(over, save), name="retrograd-stalls", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(over: threading.Event, save: Callable[[], None]) -> None:
    last, still, limit = None, 0, _STILL
    while not over.wait(_LOOK):
        here = place()
        still = still + 1 if here is not None and here == last else 0
        last = here
        if still == limit:
            save()
            limit *= 2


Report = Callable[[Recording, Ending, Sequence[Process]], int]
"""Writes the results of a run and of the processes that it started; returns our exit code."""


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """How a program is recorded."""

    level: str = "graph"
    """One of ``event_data.LEVELS``."""
    launch: Launch | None = None
    """This process's rank in a job; its recording is then also saved when a signal ends it."""
    every: int | None = None
    """Save after this many backward passes."""
    save: Callable[[Recording], None] = lambda recording: None
    """Saves the recording so far while the program runs; must not raise."""
    after_signal: Callable[[Recording], None] = lambda recording: None
    """Called after that when a signal is about to end the process."""
    after_interrupt: Callable[[Recording], None] = lambda recording: None
    """Called when the program hangs after Ctrl-C."""
    check: bool = True
    """Whether custom Functions are called again in the end, at level ``full``."""
    keep: int | None = KEPT
    """Steps kept in full detail; None for all."""
    all_figures: bool = False
    """Whether all statistics of gradients are recorded in every backward pass."""
    eager: bool = False
    """Whether regions that the program compiles run uncompiled."""
    digest: bool = False
    """Whether ranks compare digests of their parameters at each step."""
    children: bool = False
    """Whether the processes that the program starts are recorded, too."""

    def plan(self) -> dict[str, Any]:
        """Return the arguments of ``recording`` that are the same for each process."""
        names = ("level", "check", "keep", "all_figures", "eager")
        return {name: getattr(self, name) for name in names}


class RecordedRun:
    """A program that runs while both engines are watched and is then reported on; the process ends as it did.

    ``report`` writes the results and returns our exit code, which counts if the program went well; what it raises is
    said in one line.
    """

    def __init__(self, target: Target, report: Report, options: RecordingOptions) -> None:
        self._report, self._options = report, options
        self._run = Run(target, self._failed if options.launch is not None else None)
        self._watching, self._around, self._patches = ExitStack(), ExitStack(), Patches()
        self._process = os.getpid()
        self._children = Children()
        self._label = target.label
        self._answering: Answering | None = None
        self._recorded = Recording()
        self._digests: Digests | None = None

    def begin(self) -> None:
        """Start recording, and prepare the process for the program."""
        options = self._options
        stand_down()
        if options.children:
            plan = {**options.plan(), "every": options.every, "of_rank": options.launch is not None}
            self._around.enter_context(self._children.recorded(self._label, plan))
        flushes = _Flushes(options) if options.every else None
        watched = recording(self._label, after_run=flushes, ledger=self._children.ledger, **options.plan())
        recorded = self._recorded = self._watching.enter_context(watched)
        if options.digest:
            self._digests = self._watching.enter_context(digests_compared())
        recorded.complete = False
        if options.launch is not None:
            recorded.rank, recorded.world_size = options.launch.rank, options.launch.world_size
            answering = self._answering = Answering(lambda: options.launch, self._label)
            self._watching.callback(answering.end)
            self._watching.enter_context(saved_on_signals(self._stopped, answering.look, self._stuck))
            if options.every:
                self._watching.enter_context(saved_when_still(self._still_running))
        self._patches.wrap(os, "_exit", self._wrap_exit)
        self._run.begin()

    @property
    def prepare(self) -> Callable[[], Execute]:
        """Read and compile the program, as ``Run.prepare`` does."""
        return self._run.prepare

    def end(self, error: BaseException | None, tracers: Tracers = NONE) -> NoReturn:
        """End the recording with what the program raised, report, and end the process as the program ended.

        ``tracers`` are the functions that traced calls when the program ended; they are off by now.

        A child that the program forked leaves the results to its parent.
        """
        ending = self._run.end(error, tracers)
        leave(ending, self._finish(ending))

    def _finish(self, ending: Ending) -> int:
        """End the recording and report; return our exit code."""
        with self._run.before.restored():  # we need what the program may have replaced, such as `sorted`
            compared = None if self._digests is None else self._digests.end(PATIENCE)
            self._stop_watching(ending)
            if compared is not None:
                self._recorded.events.append(compared)
            if ending.forked:
                finish(ending.error)
            self._patches.undo()  # a child's lie above ours
            if ending.forked:
                return 0
            with self._around:
                return self._reported(ending)

    def _wrap_exit(self, original: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        """Wrap ``os._exit``, which ends the program at once: what was recorded is reported all the same."""

        def _exit(*args: Any, **kwargs: Any) -> NoReturn:
            status, failure = next(iter((*args, *kwargs.values())), None), 0
            if os.getpid() == self._process and isinstance(status, int):
                with suppress(BaseException):  # the program is to end, whatever becomes of us
                    failure = self._finish(Ending(status))
                if not status and failure:
                    original(failure)
            original(*args, **kwargs)

        return _exit

    def _stop_watching(self, ending: Ending) -> None:
        """Complete the recording, and note the error that ended the program, which has been shown already."""
        try:
            with self._watching:
                if ending.error is not None:
                    raise ending.error
        except BaseException as raised:
            if raised is not ending.error:
                raise
        self._recorded.complete = True

    def _failed(self, error: BaseException) -> None:
        """Save the recording while this rank is certain to be alive."""
        recorded = self._recorded
        self._options.save(replace(recorded, events=[*recorded.events, error_event(error)]))

    def _stopped(self, name: str) -> None:
        """Save the recording, with the line at which a signal stopped the program."""
        recorded = stopped(self._recorded, name)
        self._options.save(recorded)
        if name == signal.SIGTERM.name:
            if self._answering is not None:
                self._answering.end()
            self._options.after_signal(recorded)

    def _stuck(self) -> None:
        """Report after a Ctrl-C that the program does not react to: its launcher may soon kill it."""
        self._options.after_interrupt(stopped(self._recorded, signal.SIGINT.name))

    def _still_running(self) -> None:
        """Save the recording, with the line at which the program has been waiting: it may be killed there."""
        self._options.save(stopped(self._recorded, UNFINISHED, "the process had not ended when this was saved"))

    def _reported(self, ending: Ending) -> int:
        """Write the report; return our exit code."""
        try:
            self._children.gather()
            return self._report(self._recorded, ending, self._children.processes)
        except KeyboardInterrupt:
            messages.say(messages.INTERRUPTED)
            leave_by_interrupt()
        except BrokenPipeError:
            messages.forget_stdout()
            return 0
        except Exception as error:
            return messages.report_failure(error, "the result")


class _Flushes:
    """Saves the recording after every ``every`` backward passes."""

    def __init__(self, options: RecordingOptions) -> None:
        self._options = options
        self._runs = 0

    def __call__(self, recorded: Recording) -> None:
        self._runs += 1
        if self._options.every and self._runs % self._options.every == 0:
            self._options.save(recorded)
