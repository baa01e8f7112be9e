"""Entry point of the ``retrograd`` script and of ``python -m retrograd``.

A command that runs a program only says here which one.  The program itself runs in ``main``'s own frame, after click
has returned, so that as little as possible stands below it on the stack: this frame, that of the script which called
it, and the call of ``exec``.  By so many calls it reaches the limit of recursion earlier than under ``python``.
"""

from __future__ import annotations

from .interrupts import Interrupted, leave_by_interrupt, silent_interrupt


def main() -> None:
    """Do what the command line asks for, and end the process."""
    with silent_interrupt():
        from .group import requested_run
        from .messages import INTERRUPTED, say
    try:
        run = requested_run()
        if run is None:
            return
        prepare, error = run.begin(), None
        try:
            prepare()()
        except BaseException as raised:
            error = raised
        run.end(error)  # outside of the handler: nothing that runs from here on finds an exception being handled
    except KeyboardInterrupt:
        say(INTERRUPTED)
        leave_by_interrupt()
    except Interrupted:
        # Beyond click, which makes "Aborted!" of it: the process dies of SIGINT, as python's does.
        raise KeyboardInterrupt from None
