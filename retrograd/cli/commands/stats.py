"""``retrograd stats``: tables of what a backward graph costs, and of its gradients."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from ...errors import NoGraphError, UsageError
from ...inspect.histories.watched_file import WatchedRun, is_watched_file, load_run
from ...inspect.recording.events import Recording
from ...inspect.recording.loading import load_recording
from ...inspect.recording.stats import ROWS
from ...inspect.recording.unseen import launched_on
from ...inspect.render import RenderOptions
from ...inspect.render.console_page import page_text, print_page
from ...inspect.render.run_tables import run_json, run_parts
from ...inspect.render.stats_tables import chosen_statistics, stats_json, stats_parts
from ...inspect.training.exports.csv_ import run_csv
from ...inspect.writing import STDOUT, write_output
from .. import messages, results
from ..children.gathered import Process
from ..launcher import beside
from ..options import ScriptCommand, StepType, children_option, output_options, program_options
from ..recorded import RecordedRun, RecordingOptions
from ..runner import Ending
from ..target import Target, choose


@click.command(
    cls=ScriptCommand,
    name="stats",
    options_metavar="[OPTIONS]",
    epilog="Options of the program itself go after '--': retrograd stats train.py -- --epochs 3",
)
@click.argument("words", nargs=-1, metavar="RECORDING|SCRIPT [ARGS]...", type=click.UNPROCESSED)
@program_options
@output_options("stats", "csv", "json", "text")
@children_option
@click.option("--step", type=StepType(), default="last", metavar="N|last|all", help="Which backward pass.")
@click.option("--saved", is_flag=True, help="List the saved tensors, with the range of their values.")
@click.option("--rows", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Rows of each table.")
def command(words: tuple[str, ...], module: str | None, code: str | None, **asked: Any) -> RecordedRun | None:
    """Show slow nodes, large saved tensors and statistics of gradients.

    RECORDING is a file that `retrograd trace -o run.json` or `retrograd watch -o run.json` wrote (its name ends in
    .json), or '-' for standard input.  Anything else is a SCRIPT, which is run as `retrograd trace` runs it; its
    tables go to stderr.
    """
    path = results.absolute(asked["output"])
    if module is None and code is None and words and (words[0] == STDOUT or words[0].endswith(".json")):
        if len(words) > 1:
            raise UsageError(f"A recording takes no arguments, but {words[1]!r} was given.", "Leave it out.")
        if asked["children"]:
            raise UsageError("--children runs a program, but a recording was given.", "Name the script.")
        results.refuse_overwriting(asked["output"], words, "recording")
        if words[0] != STDOUT and is_watched_file(words[0]):
            _show_run(load_run(words[0]), asked)
            return None
        recording = load_recording(words[0])
        for sentence in launched_on(recording):
            messages.say(sentence)
        _show(recording, asked)
        return None
    return _run(choose(words, module=module, code=code), asked, path)


def _show_run(run: WatchedRun, asked: dict[str, Any]) -> None:
    """Print or write the summary of a watched run."""
    output: str | None = asked["output"]
    fmt = asked["fmt"] or (output or "").rpartition(".")[2]
    if fmt in ("csv", "json"):
        write_output(run_csv(run) if fmt == "csv" else run_json(run), output or STDOUT)
    elif output in (None, STDOUT):
        print_page(run_parts(run))
    else:
        write_output(page_text(run_parts(run)), str(output))


def _run(target: Target, asked: dict[str, Any], path: str | None) -> RecordedRun:
    """Return the request to run a program and then show the statistics of its graphs."""
    if asked["fmt"] and not asked["output"]:
        raise UsageError("-f names the format of a file, but there is no -o.", "Add -o FILE, or -o - for stdout.")
    _refuse_table(asked)
    target.check()
    output = asked["output"]
    if target.kind == "script":
        results.refuse_overwriting(output, [target.text], "program")

    if asked["children"]:
        results.refuse_one_stream([output])

    def report(recorded: Recording, ending: Ending, processes: Sequence[Process]) -> int:
        for sentence in results.hidden(recorded):
            messages.say(sentence)
        try:
            _show(recorded, {**asked, "output": path}, to_stderr=True)
        except NoGraphError:
            messages.say(results.nothing_recorded(recorded, target, ending, output or ""))
        for process in processes:
            if process.recording.graphs:
                own = path and beside(path, (), process.mark)
                messages.say(f"{process.name}{f': {own}' if own else ':'}")
                _show(process.recording, {**asked, "output": own}, to_stderr=True)
        return 0

    level = "full" if asked["saved"] else "backward"
    return RecordedRun(target, report, RecordingOptions(level, all_figures=True, children=asked["children"]))


def _refuse_table(asked: dict[str, Any]) -> None:
    """Raise ``UsageError`` if one table is requested and there are several."""
    if asked["fmt"] == "csv" or (asked["output"] or "").endswith(".csv"):
        raise UsageError("Only a run that `retrograd watch` wrote is one table.", "Use -f json or -f text.")


def _show(recording: Recording, asked: dict[str, Any], *, to_stderr: bool = False) -> None:
    """Print or write the statistics of a recording."""
    found = chosen_statistics(recording, RenderOptions(step=asked["step"]), asked["rows"], saved=asked["saved"])
    output: str | None = asked["output"]
    fmt = asked["fmt"] or ("json" if (output or "").endswith(".json") else "text")
    if fmt == "json":
        write_output(stats_json(recording, found), output or STDOUT)
    elif output in (None, STDOUT):
        stream = messages.first_stderr() if to_stderr and output is None else sys.stdout
        if stream is not None:
            print_page(stats_parts(found), stream)
    else:
        write_output(page_text(stats_parts(found)), str(output))
