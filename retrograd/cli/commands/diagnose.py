"""``retrograd diagnose``: run a program, or read its recording, and say what went wrong and where."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from ...errors import UsageError
from ...inspect.diagnose import SEVERITIES, diagnose, kinds
from ...inspect.events import Recording
from ...inspect.output import STDOUT, check_writable, write_output
from ...inspect.render.json_ import load_recording
from ...inspect.render.reports import Outcome, Report, report_for, reports
from ...inspect.render.reports.panels import print_findings
from .. import results
from ..options import ScriptCommand
from ..recorded import Recorded, run_and_report
from ..runner import Ending
from ..target import Target, choose

FOUND = 1
"""Exit code when there is a finding."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to tell, in which form, and where."""

    output: str | None
    """Absolute path, ``-``, or None for panels on the terminal."""
    shown: str
    form: Report
    severity: str
    exit_zero: bool
    began: float


@click.command(
    cls=ScriptCommand,
    name="diagnose",
    options_metavar="[OPTIONS]",
    epilog="Options of the program itself go after '--': retrograd diagnose train.py -- --epochs 3",
)
@click.argument("words", nargs=-1, metavar="SCRIPT|RECORDING.json [ARGS]...", type=click.UNPROCESSED)
@click.option("-m", "module", metavar="MODULE", allow_from_autoenv=False, help="Run a module, as python -m does.")
@click.option("-c", "code", metavar="CODE", allow_from_autoenv=False, help="Run CODE, as python -c does.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write FILE; - is standard output.")
@click.option(
    "-f",
    "--format",
    "fmt",
    type=click.Choice(sorted(reports())),
    envvar="RETROGRAD_DIAGNOSE_FORMAT",
    help="Form of the findings; by default FILE's suffix says it.",
)
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default=SEVERITIES[-1],
    show_default=True,
    help="Tell only findings at least this severe.",
)
@click.option("--exit-zero", is_flag=True, help="Findings do not make the exit code 1.")
def command(words: tuple[str, ...], module: str | None, code: str | None, **asked: Any) -> None:
    """Say what is wrong with the gradients of SCRIPT: what happened, at which line, and what to write instead.

    SCRIPT runs exactly as python would run it, also when it raises; without -o the findings are told on stderr
    when it has ended.  RECORDING.json is a file of `retrograd trace --level full -o run.json`.  The exit code is
    the script's if it has one; else 1 if there is a finding, and 3 if they could not be written.
    """
    wanted = _wanted(asked)
    if module is None and code is None and words and words[0].endswith(".json"):
        if len(words) > 1:
            raise UsageError(f"A recording takes no arguments, but {words[1]!r} was given.", "Leave it out.")
        found = _tell(load_recording(words[0]), wanted)
        click.get_current_context().exit(found)
    _run(choose(words, module=module, code=code), wanted)


def _wanted(asked: dict[str, Any]) -> Asked:
    """Check and complete what was asked for, before any work is done."""
    output: str | None = asked["output"]
    path = output if output in (None, STDOUT) else os.path.abspath(output)  # the program may change folder
    if path is not None:
        check_writable(path)
    form = reports()[asked["fmt"]] if asked["fmt"] else report_for(output or "")
    return Asked(path, output or "", form, asked["severity"], asked["exit_zero"], time.perf_counter())


def _run(target: Target, wanted: Asked) -> NoReturn:
    """Run a program and tell what was found."""
    target.check()
    if wanted.output not in (None, STDOUT) and target.kind == "script":
        results.spare([results.Output(wanted.shown, str(wanted.output), wanted.form.name)], target.text)

    def report(recorded: Recording, _ending: Ending) -> int:
        return _tell(recorded, wanted, to_stderr=True)

    run_and_report(target, report, Recorded("full"))


def _tell(recording: Recording, wanted: Asked, *, to_stderr: bool = False) -> int:
    """Diagnose a recording and tell the findings; return the exit code."""
    least = SEVERITIES.index(wanted.severity)
    findings = [finding for finding in diagnose(recording) if SEVERITIES.index(finding.severity) <= least]
    meanings = {kind: told.meaning for kind, told in kinds().items()}
    outcome = Outcome(recording, findings, time.perf_counter() - wanted.began, meanings)
    if wanted.output is not None:
        write_output(wanted.form.write(outcome), wanted.output)
    elif wanted.form.name == "text":
        print_findings(outcome, sys.__stderr__ if to_stderr else None)
    else:
        stream = sys.__stderr__ if to_stderr else sys.stdout
        if stream is not None:
            stream.write(wanted.form.write(outcome))
            stream.flush()
    return FOUND if findings and not wanted.exit_zero else 0
