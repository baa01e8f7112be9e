"""``retrograd watch``: runs a training program and follows its gradients, weights and updates over all steps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

import click

from ...errors import OutputError, UsageError
from ...inspect.render.console_page import print_page
from ...inspect.render.run_tables import run_parts
from ...inspect.training.run import FORMS, MEMORY, watch
from ...inspect.training.triggers import DEFAULT, TRIGGERS
from ...inspect.writing import STDOUT, check_writable, write_output
from .. import messages, results
from ..options import ScriptCommand, output_options, program_options
from ..requested import Execute
from ..runner import Run, leave
from ..target import Target, choose
from ..tracers import NONE, Tracers


@click.command(
    cls=ScriptCommand,
    name="watch",
    options_metavar="[OPTIONS]",
    epilog="Options of the program itself go after '--': retrograd watch train.py -o run.json -- --epochs 3",
)
@click.argument("words", nargs=-1, metavar="SCRIPT [ARGS]...", type=click.UNPROCESSED)
@program_options
@output_options("watch", *FORMS)
@click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, help="Steps between two readings.")
@click.option("--replay", is_flag=True, help="Run a step in which something goes wrong again, recorded and diagnosed.")
@click.option(
    "--trigger",
    "triggers",
    multiple=True,
    type=click.Choice(sorted(TRIGGERS)),
    metavar="NAME",
    help=f"What to look for; may be repeated: {', '.join(TRIGGERS)}.  [default: {', '.join(DEFAULT)}]",
)
@click.option("--stop", is_flag=True, help="Raise an exception in the program when something goes wrong.")
@click.option("--memory", type=click.IntRange(min=1), default=MEMORY // 1_000_000, show_default=True, help="MB kept.")
@click.option("--resume", is_flag=True, help="Continue FILE, after a restart from a checkpoint.")
@click.option("--live", is_flag=True, help="Show the newest steps at the bottom of the terminal, if stderr is one.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print the table of the run when it has ended.")
def command(words: tuple[str, ...], module: str | None, code: str | None, **asked: Any) -> WatchedProgram:
    """Follow a training: losses, gradients, weights, updates.

    SCRIPT runs exactly as python would run it; FILE is written every 30 seconds and when it has ended.  What goes
    wrong is said when it happens: values that are not finite, gradients that explode or stop, steps that are too
    large, a rate of zero, a collapsing scale, growing memory.  With --replay that step is run again in a copy of the
    process, recorded and diagnosed.  `retrograd stats FILE` shows a run that was written.  The exit code is the
    script's.
    """
    if asked["fmt"] and not asked["output"]:
        raise UsageError("-f names the format of a file, but there is no -o.", "Add -o FILE, or -o - for stdout.")
    output = results.absolute(asked["output"])
    if output is not None:
        check_writable(output)
    target = choose(words, module=module, code=code)
    target.check()
    if target.kind == "script":
        results.refuse_overwriting(output, [target.text], "program")
    return WatchedProgram(target, {**asked, "output": output})


class WatchedProgram:
    """A program that runs while its training steps are watched; then the process ends as the program did."""

    def __init__(self, target: Target, asked: dict[str, Any]) -> None:
        self._target, self._asked = target, asked
        self._run = Run(target)
        self._watch: watch | None = None

    def begin(self) -> None:
        """Start watching, and prepare the process for the program."""
        asked = self._asked
        self._watch = watch(
            file=None if asked["output"] == STDOUT else asked["output"],
            fmt=asked["fmt"] or None,
            every=asked["every"],
            replay=asked["replay"],
            triggers=asked["triggers"] or None,
            action="raise" if asked["stop"] else "report",
            memory=asked["memory"] * 1_000_000,
            resume=asked["resume"],
            live=asked["live"],
            script=self._target.label,
        )
        self._run.begin()

    @property
    def prepare(self) -> Callable[[], Execute]:
        """Read and compile the program, as ``Run.prepare`` does."""
        return self._run.prepare

    def end(self, error: BaseException | None, tracers: Tracers = NONE) -> NoReturn:
        """Write and show the run, then end the process as the program ended."""
        ending = self._run.end(error, tracers)
        failure = 0
        with self._run.before.restored():
            watched = self._watch
            if watched is not None and not ending.forked:
                if ending.error is not None:
                    watched.failed(ending.error)
                watched.close()
                failure = self._shown(watched)
        leave(ending, failure)

    def _shown(self, watched: watch) -> int:
        """Print the table of the run and the file that was written; return our exit code."""
        stream = messages.first_stderr()
        if not self._asked["quiet"] and stream is not None:
            try:
                print_page(run_parts(watched.run), stream)
            except BrokenPipeError:
                pass
            except Exception as error:
                return messages.report_failure(error, "the table")
        if self._asked["output"] == STDOUT:
            write_output(watched.text(), STDOUT)
        if watched.file is not None and not watched.unwritten:
            messages.say(f"wrote {os.path.relpath(watched.file)}")
        return OutputError.exit_code if watched.unwritten else 0
