"""``retrograd diagnose``: runs a program, or reads its recording, and reports what went wrong and where."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from ...errors import UsageError
from ...inspect.baseline import KIND as DIFFERS
from ...inspect.baseline import MEANING as DIFFERENCE
from ...inspect.baseline import compared
from ...inspect.diagnosis import SEVERITIES, diagnose, diagnose_together, kinds
from ...inspect.differences import name_of
from ...inspect.findings import Dropped, Finding
from ...inspect.fixes import compatible, unified_diff
from ...inspect.histories.watched_file import is_watched_file
from ...inspect.lineup import digests
from ...inspect.lineup.dumps import in_order, left_out
from ...inspect.lineup.job_words import job_sentences
from ...inspect.lineup.lineup import of_a_job
from ...inspect.program.places import path_below
from ...inspect.program.texts import plain_lines
from ...inspect.recording.event_data import LEVELS
from ...inspect.recording.events import Recording
from ...inspect.recording.flight_recorder import is_dump
from ...inspect.recording.loading import load_recording
from ...inspect.recording.unseen import sentences
from ...inspect.render.reports import Outcome, Report, report_for, reports
from ...inspect.render.reports.panels import print_findings
from ...inspect.writing import check_writable, write_output
from .. import messages, results
from ..child_runs import recorded_twice
from ..children.gathered import Process
from ..launcher import launched
from ..options import (
    ScriptCommand,
    check_option,
    children_option,
    digest_option,
    eager_option,
    keep_option,
    output_options,
    program_options,
)
from ..ranks import AFTER_ALL, AFTER_FAILURE, AFTER_SIGNAL, Ranks
from ..recorded import RecordedRun, RecordingOptions
from ..recorded import Report as MakesReport
from ..runner import Ending
from ..signal_saving import put_off
from ..stacks import ask, stacks_text
from ..target import Target, choose
from ..trials import recorded_and_tried

FOUND = 1
"""Exit code when there is a finding."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to report, in which format, and where."""

    output: str | None
    """Absolute path, ``-``, or None for panels on the terminal."""
    form: Report
    severity: str
    exit_zero: bool
    began: float
    patch: str | None = None
    """Absolute path of the diff to write, or ``-``."""
    explain: bool = False
    """Whether evidence, and what was dropped, is shown."""
    baseline: Recording | None = None
    """A run that is known to work, for comparison."""


@click.command(
    cls=ScriptCommand,
    name="diagnose",
    options_metavar="[OPTIONS]",
    epilog="Options of the program itself go after '--': retrograd diagnose train.py -- --epochs 3",
)
@click.argument("words", nargs=-1, metavar="SCRIPT [ARGS]...|RECORDING.json...|DUMP...", type=click.UNPROCESSED)
@program_options
@output_options("diagnose", *reports())
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default=SEVERITIES[-1],
    show_default=True,
    help="Report only findings at least this severe.",
)
@eager_option
@keep_option
@check_option
@children_option
@digest_option
@click.option("--twice", is_flag=True, help="Run SCRIPT twice and name the first operation whose result differs.")
@click.option(
    "--verify",
    is_flag=True,
    help="Try the proposed changes: run SCRIPT again with each of them, on a copy of its text.",
)
@click.option(
    "--against",
    metavar="GOOD.json",
    help="Also say how SCRIPT differs from a run that works: a recording made at level full.",
)
@click.option("--explain", is_flag=True, help="Show the evidence of each finding, and what was dropped and why.")
@click.option("--patch", type=click.Path(), metavar="FILE", help="Write the proposed changes as a unified diff.")
@click.option("--stacks", is_flag=True, help="Print where each rank that is recorded on this machine is now, and exit.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
def command(words: tuple[str, ...], module: str | None, code: str | None, **asked: Any) -> RecordedRun:
    """Find what is wrong in SCRIPT, where, and how to fix it.

    SCRIPT runs exactly as python would run it, also when it raises; without -o the findings are reported on stderr
    when it has ended.  RECORDING.json is a file of `retrograd trace --level full -o run.json`; of several, those of
    the ranks of one job, it also says how they differ.  DUMP is fr_trace.rank0, which PyTorch's flight recorder has
    written, beside such files or in their place.  The exit code is the script's if it has one; else 1 if there
    is a finding, and 3 if they could not be written.
    """
    if asked["stacks"]:
        click.get_current_context().exit(_say_where(words or module or code))
    wanted = _wanted(asked)
    if module is None and code is None and words and _is_recording(words[0]):
        click.get_current_context().exit(_read(words, wanted, again=_again(asked)))
    target = choose(words, module=module, code=code)
    if target.kind == "script":
        results.refuse_overwriting(wanted.output, [target.text], "program")
    again = _again(asked)
    if again in ("--twice", "--verify"):
        click.get_current_context().exit(_run_again(target, wanted, again))
    names = ("check", "keep", "eager", "digest", "children")
    return _run(target, wanted, RecordingOptions("full", **{name: asked[name] for name in names}))


def _say_where(given: object) -> int:
    """Print the stacks of all ranks; return the exit code."""
    if given:
        raise UsageError("--stacks asks jobs that run already, but a program was given.", "Leave it out.")
    found = ask()
    if not found:
        raise UsageError(
            "No rank of yours is being recorded on this machine.",
            "Start the job with: torchrun --nproc-per-node 4 -m retrograd diagnose train.py; or, where the program "
            "starts its ranks itself: retrograd diagnose --children train.py",
        )
    sys.stdout.write(stacks_text(found))
    return 0


def _wanted(asked: dict[str, Any]) -> Asked:
    """Check and complete the options, before any work is done."""
    path = results.absolute(asked["output"])
    form = reports()[asked["fmt"]] if asked["fmt"] else report_for(asked["output"] or "")
    patch = results.absolute(asked["patch"])
    for one in (path, patch):
        if one is not None:
            check_writable(one)
    baseline = None if asked["against"] is None else _baseline(asked["against"])
    began = time.perf_counter()
    return Asked(path, form, asked["severity"], asked["exit_zero"], began, patch, asked["explain"], baseline)


def _baseline(path: str) -> Recording:
    """Load the recording of a run that works."""
    if is_watched_file(path):
        raise UsageError(f"{path} is a watched run.", f"Compare two of them with: retrograd diff {path} OTHER.json")
    loaded = load_recording(path)
    _check_levels({path: loaded})
    return loaded


def _again(asked: dict[str, Any]) -> str:
    """Return the option that needs several runs or processes, None if there is none; raises if there are two."""
    chosen = [f"--{name}" for name in ("twice", "verify", "children") if asked[name]]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} were given together.", "Run the command once with each.")
    return next(iter(chosen), "")


def _run(target: Target, wanted: Asked, options: RecordingOptions) -> RecordedRun:
    """Return the run of a program with its report; of several ranks of a job the first one reports on all."""
    target.check()
    launch = launched()
    ranks = Ranks.of(launch, os.environ)
    if ranks is not None and not options.children:
        return RecordedRun(target, *_of_ranks(ranks, wanted, replace(options, launch=launch)))

    def report(recorded: Recording, _ending: Ending, processes: Sequence[Process]) -> int:
        dropped: list[Dropped] = []
        found = [*diagnose(recorded, dropped=dropped), *_of_processes(processes)]
        others = [process.recording for process in processes]
        return _report(_with_all_lines([recorded, *others]), found, wanted, dropped, to_stderr=True, others=others)

    return RecordedRun(target, report, options)


def _of_ranks(ranks: Ranks, wanted: Asked, options: RecordingOptions) -> tuple[MakesReport, RecordingOptions]:
    """Return the report and the recording options of one rank of a job; all its steps are kept, to be compared."""

    def together(recorded: Recording, seconds: float) -> int:
        """Report on all ranks; findings do not change the exit code, since a launcher would restart a failed job."""
        loaded = ranks.gather(recorded, seconds)
        names = [name_of(recording, number) for number, recording in enumerate(loaded)]
        found = diagnose_together(loaded, names)
        code = _report(_with_all_lines(loaded), found, wanted, to_stderr=True, others=loaded[1:])
        return 0 if code == FOUND else code

    def report(recorded: Recording, ending: Ending, _processes: Sequence[Process]) -> int:
        if not digests.is_left_out(recorded):
            ranks.save(recorded)
        ranks.done()
        if not ranks.reports:
            return 0
        with put_off(ranks.hurry):
            try:
                return together(recorded, AFTER_ALL if ending.error is None else AFTER_FAILURE)
            finally:
                ranks.remove()

    def after_signal(recorded: Recording) -> None:
        ranks.done()
        if ranks.reports:
            together(recorded, AFTER_SIGNAL)
            ranks.remove()

    def after_interrupt(recorded: Recording) -> None:
        if ranks.reports:
            together(recorded, 0.0)

    options = replace(options, keep=None, save=ranks.save)
    return report, replace(options, after_signal=after_signal, after_interrupt=after_interrupt)


def _of_processes(processes: Sequence[Process]) -> list[Finding]:
    """Return the findings of several processes, each with its process; equal findings are reported once.

    The ranks of a job are also compared.
    """
    ranks = [process for process in processes if process.is_rank]
    alone = [process for process in processes if not process.is_rank or len(ranks) == 1]
    found: dict[tuple[str, str, int, str], tuple[Finding, list[str]]] = {}
    if len(ranks) > 1:
        names = [process.name for process in ranks]
        together = diagnose_together([process.recording for process in ranks], names)
        found |= {(one.kind, one.file, one.line, one.message): (one, names) for one in together}
    for process in alone:
        for one in diagnose(process.recording):
            found.setdefault((one.kind, one.file, one.line, one.message), (one, []))[1].append(process.name)
    return [replace(one, process=", ".join(names), nodes=(), marks=()) for one, names in found.values()]


def _read(paths: tuple[str, ...], wanted: Asked, *, again: str) -> int:
    """Report the findings in saved recordings; return the exit code."""
    if again:
        raise UsageError(f"{again} runs a program, but a recording was given.", "Name the script.")
    for path in paths[1:]:
        if not _is_recording(path):
            raise UsageError(f"A recording takes no arguments, but {path!r} was given.", "Leave it out.")
    results.refuse_overwriting(wanted.output, paths, "recording")
    loaded = [load_recording(path) for path in paths]
    _check_levels(dict(zip(paths, loaded, strict=True)))
    if len(loaded) == 1 and not of_a_job(loaded[0]):
        return _report_alone(loaded[0], wanted)
    ranks = all(map(of_a_job, loaded))
    if ranks:
        for sentence in left_out(loaded):
            messages.say(sentence)
        loaded = in_order(loaded)
    names = [name_of(recording, number) for number, recording in enumerate(loaded)] if ranks else list(paths)
    return _report(_with_all_lines(loaded), diagnose_together(loaded, names), wanted, others=loaded[1:])


def _is_recording(path: str) -> bool:
    """Whether the argument is a saved recording, and not a program."""
    return path.endswith(".json") or is_dump(path)


def _check_levels(loaded: dict[str, Recording]) -> None:
    """Raise for a recording of structure alone; warn where calls were not recorded, so that few problems show."""
    for path, recording in loaded.items():
        again = f"Record with: retrograd trace --level {LEVELS[-1]} -o {path} {recording.script or 'SCRIPT'}"
        if recording.level == LEVELS[0]:
            what = f"{path} was recorded at level {LEVELS[0]!r}: it holds the structure of graphs, nothing to diagnose."
            raise UsageError(what, again)
        if recording.level != LEVELS[-1]:
            messages.say(
                f"{path} was recorded at level {recording.level!r}: most problems cannot be detected in it. {again}"
            )
            return


def _run_again(target: Target, wanted: Asked, again: str) -> int:
    """Run a program more than once, and report how the runs differ or which fixes work; return the exit code."""
    target.check()
    if target.kind == "stdin":
        raise UsageError("Standard input can be read only once.", "Save the program to a file.")
    if again == "--verify":
        tried, code = recorded_and_tried(target)
        reported = _report(tried.recording, list(tried.findings), wanted, to_stderr=True)
        return code or reported
    loaded, code = recorded_twice(target)
    findings = diagnose_together(loaded, ["first run", "second run"])
    reported = _report(_with_all_lines(loaded), findings, wanted, to_stderr=True, others=loaded[1:])
    return code or reported


def _with_all_lines(loaded: list[Recording]) -> Recording:
    """Return the first recording with the source lines of all."""
    sources: dict[str, dict[int, str]] = {}
    for recording in loaded:
        for file, lines in recording.sources.items():
            sources.setdefault(file, {}).update(lines)
    return replace(loaded[0], sources=sources)


def _report_alone(recording: Recording, wanted: Asked, *, to_stderr: bool = False) -> int:
    """Report the findings in one recording; return the exit code."""
    dropped: list[Dropped] = []
    return _report(recording, diagnose(recording, dropped=dropped), wanted, dropped, to_stderr=to_stderr)


def _report(
    recording: Recording,
    found: list[Finding],
    wanted: Asked,
    dropped: Sequence[Dropped] = (),
    *,
    to_stderr: bool = False,
    others: Sequence[Recording] = (),
) -> int:
    """Report findings; return the exit code. ``others`` are further recordings, if there are several."""
    least = SEVERITIES.index(wanted.severity)
    if wanted.baseline is not None:
        found = [*found, *compared(recording, wanted.baseline)]
    findings = [finding for finding in found if SEVERITIES.index(finding.severity) <= least]
    meanings = {name: kind.meaning for name, kind in kinds().items()} | {DIFFERS: DIFFERENCE}
    seconds = time.perf_counter() - wanted.began
    unseen = [*sentences([recording, *others], found_something=bool(found)), *job_sentences([recording, *others])]
    outcome = Outcome(recording, findings, seconds, meanings, wanted.explain, dropped, unseen, others)
    stream = messages.first_stderr() if to_stderr else sys.stdout
    if said := digests.sentence([recording, *others]):
        messages.say(said)
    if wanted.patch is not None:
        _write_patch(findings, wanted.patch)
    if wanted.output is not None:
        write_output(wanted.form.write(outcome), wanted.output)
    elif stream is not None and wanted.form.name == "text":
        print_findings(outcome, stream)
    elif stream is not None:
        stream.write(wanted.form.write(outcome))
        stream.flush()
    return FOUND if findings and not wanted.exit_zero else 0


def _write_patch(findings: list[Finding], path: str) -> None:
    """Write the fixes of findings as a diff; say which fixes it leaves out."""
    proposed = [finding.fix for finding in findings if finding.fix is not None]
    fixes = compatible(proposed)
    write_output(unified_diff(fixes, plain_lines, lambda file: path_below(file) or file.lstrip("/")), path)
    if len(fixes) < len(dict.fromkeys(proposed)):
        messages.say(
            f"{len(dict.fromkeys(proposed)) - len(fixes)} proposed changes of the same lines are left out of {path}"
        )
    if not fixes:
        messages.say(f"no change is proposed, so {path} is empty")
