"""Entry point of the ``retrograd`` script and of ``python -m retrograd``.

A command that runs a program only returns which one. The program itself runs in ``main``'s own frame, after click has
returned, so that as few frames as possible are below it on the stack: this one, that of the calling script, and that of
``exec``. The program reaches the recursion limit that many calls earlier than under ``python``.
"""

from __future__ import annotations

from .interrupts import Interrupted, leave_by_interrupt, silent_interrupt


def main() -> None:
    """Do what the command line asks for, and end the process."""
    with silent_interrupt():
        from . import tracers
        from .group import requested_run
        from .messages import INTERRUPTED, say
    try:
        try:
            run = requested_run()
            run.begin()
            prepare = run.prepare
            error: BaseException | None = None
            tracers.get_frame().f_trace_lines = False  # a debugger stepping past the program's end finds no line here
            try:
                execute = prepare()
                execute()
            except BaseException as raised:
                error = raised
            tracers.get_frame().f_trace_lines = False  # from 3.13 on, debuggers switch lines of all on
            # Calls of ours would be seen by what the program left to trace calls.
            trace, profile = tracers.get_trace(), tracers.get_profile()
            tracers.set_profile(None)
            tracers.set_trace(None)
            tools = tracers.tuple_(tracers.filter_(tracers.in_use, tracers.TOOLS))
            events = tracers.tuple_(tracers.map_(tracers.get_events, tools))
            tracers.tuple_(tracers.map_(tracers.set_events, tools, tracers.NOTHING))
            # Outside of the handler: what runs there finds no exception being handled.
            run.end(error, tracers.Tracers(trace, profile, tools, events))
        except KeyboardInterrupt:
            with silent_interrupt():  # one more ends the process at once
                say(INTERRUPTED)
            leave_by_interrupt()
    except Interrupted:
        # Beyond click, which makes "Aborted!" of it: the process dies of SIGINT, as python's does.
        raise KeyboardInterrupt from None
