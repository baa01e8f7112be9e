"""Runs a program while both engines are watched, reports on it, and ends as it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ..inspect.events import Recording
from ..inspect.record import recording
from . import results
from .runner import Ending, leave, own_ground, run
from .target import Target

INTERRUPTED = 130
"""Exit code after a Ctrl-C while results are made, as shells count it."""


def run_recorded(target: Target, level: str = "graph") -> tuple[Recording, Ending]:
    """Run the program to its end, recorded at one of ``event_data.LEVELS``.

    The recording also notes the error that ended it, which has been shown by then.
    """
    recorded, ending = Recording(), Ending()
    try:
        with recording(script=target.label, level=level) as recorded:
            ending = run(target)
            if ending.error is not None:
                raise ending.error
    except BaseException as error:
        if error is not ending.error:
            raise
    return recorded, ending


def run_and_report(target: Target, report: Callable[[Recording, Ending], int], *, level: str = "graph") -> NoReturn:
    """Run the program, let ``report`` write its results, and end the process as the program ended.

    ``report`` returns our exit code, which counts if the program went well; what it raises is said in one line.
    A child that the program forked leaves the results to its parent.
    """
    recorded, ending = run_recorded(target, level)
    failure = 0
    if not ending.forked:
        with own_ground():
            failure = _reported(report, recorded, ending)
    leave(ending, failure)


def _reported(report: Callable[[Recording, Ending], int], recorded: Recording, ending: Ending) -> int:
    """Return the exit code of a report."""
    try:
        return report(recorded, ending)
    except KeyboardInterrupt:
        results.say("interrupted; what was not yet written is lost.")
        return INTERRUPTED
    except BrokenPipeError:
        results.forget_stdout()
        return 0
    except Exception as error:
        return results.explain(error, "the result")
