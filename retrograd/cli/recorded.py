"""Runs a program while both engines are watched."""

from __future__ import annotations

from ..inspect.events import Recording
from ..inspect.record import recording
from .runner import Ending, run
from .target import Target


def run_recorded(target: Target) -> tuple[Recording, Ending]:
    """Run the program to its end; the recording also notes the error that ended it, which has been shown by then."""
    recorded, ending = Recording(), Ending()
    try:
        with recording(script=target.label) as recorded:
            ending = run(target)
            if ending.error is not None:
                raise ending.error
    except BaseException as error:
        if error is not ending.error:
            raise
    return recorded, ending
