"""``retrograd trace``: runs a program unmodified and draws the backward graphs it made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from ...errors import UsageError
from ...inspect.lineup.digests import is_left_out
from ...inspect.recording.event_data import LEVELS
from ...inspect.recording.events import Recording
from ...inspect.recording.forward_graph import with_forward
from ...inspect.render import RenderOptions
from .. import messages, results
from ..children.gathered import Process
from ..launcher import Launch, launched
from ..options import (
    ScriptCommand,
    StepType,
    check_option,
    children_option,
    digest_option,
    drawing_options,
    eager_option,
    keep_option,
    output_options,
    program_options,
    render_options,
)
from ..recorded import RecordedRun, RecordingOptions, Report
from ..runner import Ending
from ..target import Target, choose

_OF_CALLS = ("saved-bytes", "saved_bytes")
"""Measures that are recorded only at level ``full``."""


@click.command(
    cls=ScriptCommand,
    name="trace",
    options_metavar="[OPTIONS]",
    epilog="Options of the program itself go after '--': retrograd trace train.py -o graph.svg -- --epochs 3",
)
@click.argument("words", nargs=-1, metavar="SCRIPT [ARGS]...", type=click.UNPROCESSED)
@output_options("trace", draws=True, multiple=True)
@program_options
@click.option("--step", type=StepType(), default="last", metavar="N|last|all", help="Which backward pass is drawn.")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="graph",
    show_default=True,
    help="How much is recorded: structure; also times and statistics of backward; also every call of forward.",
)
@click.option(
    "--all-figures",
    is_flag=True,
    help="Record minimum, maximum, mean and zeros of gradients in every backward pass; --color-by implies it.",
)
@eager_option
@keep_option
@check_option
@children_option
@digest_option
@click.option(
    "--flush-every",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write the results after every N backward passes too, so that a killed program leaves them.",
)
@drawing_options
@click.option("-q", "--quiet", is_flag=True, help="Do not say what was written.")
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], **asked: Any) -> RecordedRun:
    """Run SCRIPT exactly as python would and draw its backward graph.

    SCRIPT is a file, a folder or zip with __main__.py, or '-' for standard input; use -m or -c instead to run a
    module or a piece of code.  Without -o the tree of the last graph is printed on stderr.  The exit code is
    the script's; 3 says that it went well but a result could not be written.  A program that is killed leaves no
    results.  Under torchrun or mpirun each rank writes a file of its own: run.rank0.json, and with --children each
    process that SCRIPT starts: run.child1.json.
    """
    target = choose(words, module=asked["module"], code=asked["code"])
    if ctx.get_parameter_source("fmt") is ParameterSource.COMMANDLINE and not asked["output"]:
        raise UsageError("-f names the format of a file, but there is no -o.", "Add -o FILE, or -o - for stdout.")
    if asked["digest"] and asked["flush_every"]:
        raise UsageError(
            "--digest lets equal ranks write nothing, and --flush-every lets each write.", "Leave one out."
        )
    launch = launched()
    outputs = results.plan(asked["output"], asked["fmt"] if asked["output"] else None, launch)
    options = render_options(asked)
    if asked["color_by"] in _OF_CALLS and ctx.get_parameter_source("level") is ParameterSource.DEFAULT:
        asked["level"] = LEVELS[-1]  # what PyTorch's nodes save is known from the calls that made them
    results.check_drawable(outputs, options, asked["level"])
    if asked["children"]:
        results.refuse_one_stream(asked["output"])
    target.check()
    if target.kind == "script":
        for output in outputs:
            results.refuse_overwriting(output.shown, [target.text], "program")

    def keep(recorded: Recording) -> None:
        results.write(recorded, outputs, options, quiet=True)

    watched, every = (launch, asked["flush_every"]) if outputs else (None, None)
    if launch is not None and ctx.get_parameter_source("keep") is ParameterSource.DEFAULT:
        asked["keep"] = None  # ranks are compared step by step
    whole = asked["all_figures"] or asked["color_by"] is not None
    recording = RecordingOptions(
        asked["level"],
        watched,
        every,
        keep,
        check=asked["check"],
        keep=asked["keep"],
        all_figures=whole,
        eager=asked["eager"],
        digest=asked["digest"],
        children=asked["children"],
    )
    return RecordedRun(target, _reporting(target, outputs, options, launch, quiet=asked["quiet"]), recording)


def _reporting(
    target: Target, outputs: list[results.Output], options: RenderOptions, launch: Launch | None, *, quiet: bool
) -> Report:
    """Return the report that writes the outputs of a run and of the processes that it started."""

    def report(recorded: Recording, ending: Ending, processes: Sequence[Process]) -> int:
        if not quiet:
            for sentence in results.hidden(recorded):
                messages.say(sentence)
        if is_left_out(recorded):
            return results.write_processes(processes, outputs, options, quiet=quiet)
        failure = 0
        # The recording of a rank says where it stopped, also when that was before its first graph.
        if with_forward(recorded).graphs or (launch is not None and outputs):
            failure = results.write(recorded, outputs, options, quiet=quiet)
        else:
            files = ", ".join(output.shown for output in outputs)
            messages.say(results.nothing_recorded(recorded, target, ending, files))
        return results.write_processes(processes, outputs, options, quiet=quiet) or failure

    return report
