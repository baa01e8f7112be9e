"""Runs a program while both engines are watched, reports on it, and ends as it ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from ..inspect.events import Event, Recording
from ..inspect.program.frames import source_line, user_frame
from ..inspect.record import error_event, recording
from . import messages
from .launcher import Launch
from .lifeline import lifeline, main_frame
from .runner import Ending, leave, leave_by_interrupt, restored_environment, run
from .target import Target


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """How a program is recorded."""

    level: str = "graph"
    """One of ``event_data.LEVELS``."""
    launch: Launch | None = None
    """Which process of a job this is; what it has is then also saved when a signal ends it."""
    every: int | None = None
    """Save after so many backward runs."""
    save: Callable[[Recording], None] = lambda recording: None
    """Saves what there is while the program runs; must not raise."""
    check: bool = True
    """Whether custom Functions are called again in the end, at level ``full``."""
    all_figures: bool = False
    """Whether every figure of a gradient is taken in every backward run."""


def run_recorded(target: Target, options: RecordingOptions) -> tuple[Recording, Ending]:
    """Run the program to its end and return its recording and how it ended.

    The recording also notes the error that ended it, which has been shown by then.
    """
    recorded, ending = Recording(), Ending()
    flushes = _Flushes(options) if options.every else None
    try:
        with recording(
            script=target.label,
            level=options.level,
            check=options.check,
            all_figures=options.all_figures,
            after_run=flushes,
        ) as recorded:
            recorded.complete = False
            if options.launch is not None:
                recorded.rank, recorded.world_size = options.launch.rank, options.launch.world_size
            with lifeline(partial(_stopped, recorded, options)) if options.launch is not None else nullcontext():
                ending = run(target, partial(_failed, recorded, options) if options.launch is not None else None)
            if ending.error is not None:
                raise ending.error
    except BaseException as error:
        if error is not ending.error:
            raise
    recorded.complete = True
    return recorded, ending


class _Flushes:
    """Saves after every so many backward runs of this process."""

    def __init__(self, options: RecordingOptions) -> None:
        self._options = options
        self._process = os.getpid()
        self._runs = 0

    def __call__(self, recorded: Recording) -> None:
        self._runs += 1
        if self._options.every and self._runs % self._options.every == 0 and os.getpid() == self._process:
            self._options.save(recorded)


def _failed(recorded: Recording, options: RecordingOptions, error: BaseException) -> None:
    """Save what there is while this rank is certain to live."""
    options.save(replace(recorded, events=[*recorded.events, error_event(error)]))


def _stopped(recorded: Recording, options: RecordingOptions, name: str) -> None:
    """Save what there is, with the line at which a signal found the program."""
    line = source_line(user_frame(main_frame()))
    recorded.events.append(Event("error", source=line, data={"type": name, "message": "stopped by the signal"}))
    options.save(recorded)


def run_and_report(
    target: Target, report: Callable[[Recording, Ending], int], options: RecordingOptions | None = None
) -> NoReturn:
    """Run the program, let ``report`` write its results, and end the process as the program ended.

    ``report`` returns our exit code, which counts if the program went well; what it raises is said in one line.
    A child that the program forked leaves the results to its parent.
    """
    recorded, ending = run_recorded(target, options or RecordingOptions())
    failure = 0
    if not ending.forked:
        with restored_environment():
            failure = _reported(report, recorded, ending)
    leave(ending, failure)


def _reported(report: Callable[[Recording, Ending], int], recorded: Recording, ending: Ending) -> int:
    """Return the exit code of a report."""
    try:
        return report(recorded, ending)
    except KeyboardInterrupt:
        messages.say(messages.INTERRUPTED)
        leave_by_interrupt()
    except BrokenPipeError:
        messages.forget_stdout()
        return 0
    except Exception as error:
        return messages.report_failure(error, "the result")
