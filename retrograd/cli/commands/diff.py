"""``retrograd diff``: compares recordings, two runs of a program or any number of ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import click

from ...errors import UsageError
from ...inspect.differences import name_of
from ...inspect.graphs.graph_diff import TOLERANCE
from ...inspect.histories.comparison import differences
from ...inspect.histories.watched_file import is_watched_file, load_run
from ...inspect.lineup.dumps import in_order, left_out
from ...inspect.lineup.lineup import Lineup, line_up, of_a_job
from ...inspect.output import save
from ...inspect.progress import progress
from ...inspect.recording.events import Recording
from ...inspect.recording.loading import load_recording
from ...inspect.render import RenderOptions, renderer_for
from ...inspect.render.console_page import page_text, print_page
from ...inspect.render.diff_picture import chosen_diff, diff_picture, sides
from ...inspect.render.diff_text import ROWS, diff_json, lineup_parts
from ...inspect.render.formats.chrome_trace import Ran, trace_json
from ...inspect.render.lineup_page import lineup_page
from ...inspect.render.run_tables import comparison_json, comparison_parts
from ...inspect.writing import STDOUT, check_writable, write_output
from ..messages import say
from ..options import ConfiguredCommand, output_options
from ..results import refuse_one_format, refuse_overwriting

DIFFERENT = 1
"""Exit code when something differs."""
TEXT = "text"
"""Name of the format that the terminal shows."""


@click.command(
    cls=ConfiguredCommand,
    name="diff",
    epilog="Exit codes: 0 no difference, 1 they differ, 2 usage or unreadable input, 3 could not write or draw.",
)
@click.argument("recordings", nargs=-1, metavar="A B [MORE]...")
@output_options("diff", "text", draws=True, multiple=True)
@click.option("--step", type=int, help="Compare only this backward pass, counted from 0 (negative: from the end).")
@click.option(
    "--rtol",
    type=click.FloatRange(min=0.0),
    default=TOLERANCE,
    show_default=True,
    help="Relative difference up to which values count as equal.",
)
@click.option("--rows", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Lines of each list.")
@click.option("--title", default="", metavar="TEXT", help="Headline of the drawing.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if they differ.")
@click.pass_context
def command(ctx: click.Context, /, recordings: tuple[str, ...], **asked: Any) -> None:
    """Compare recordings: where they diverge and which agree.

    Reports the first step and node that differ, how, and the statistics that are not the same.
    Of two runs that `retrograd watch` wrote: which parameters differ, and where the losses diverge.
    Two recordings are taken for two runs of one program, and their graphs are compared node by node; recordings
    of the ranks of one job are lined up step by step, also if only one of them is left.
    """
    if not recordings:
        raise _nothing()
    outputs: tuple[str, ...] = asked["output"] or (STDOUT,)
    refuse_one_format(outputs, asked["fmt"])
    for output in outputs:
        check_writable(output)
        refuse_overwriting(output, recordings, "recording")
    if any(is_watched_file(path) for path in recordings):
        ctx.exit(_runs(recordings, outputs, asked))
    formats = [_format(asked["fmt"], output) for output in outputs]
    loaded = [_only(load_recording(path), asked["step"], path) for path in recordings]
    for sentence in left_out(loaded):
        say(sentence)
    loaded = in_order(loaded)
    if len(loaded) == 1 and not of_a_job(loaded[0]):
        raise _nothing()
    with progress("comparing"):
        found = line_up(loaded, _names(loaded, recordings), asked["rtol"])
    for output, fmt in zip(outputs, formats, strict=True):
        if fmt == TEXT:
            _tell(lineup_parts(found, asked["rows"]), output)
        else:
            _write(found, fmt, output, asked["title"])
    ctx.exit(DIFFERENT if found and not asked["exit_zero"] else 0)


def _runs(paths: tuple[str, ...], outputs: tuple[str, ...], asked: dict[str, Any]) -> int:
    """Compare two watched runs; return the exit code."""
    if len(paths) != 2 or not all(map(is_watched_file, paths)):
        raise UsageError("Watched runs are compared two at a time, and with nothing else.", "Name two of them.")
    one, other = map(load_run, paths)
    for output in outputs:
        if (asked["fmt"] or ("json" if output.endswith(".json") else TEXT)) == "json":
            write_output(comparison_json(one, other), output)
        else:
            _tell(comparison_parts(one, other, asked["rows"]), output)
    return DIFFERENT if differences(one, other) and not asked["exit_zero"] else 0


def _tell(parts: Iterator[Any], output: str) -> None:
    """Show a comparison in the terminal, or write it as text."""
    if output == STDOUT:
        print_page(parts)
    else:
        write_output(page_text(parts), output)


def _nothing() -> UsageError:
    return UsageError("There is nothing to compare.", "Name two recordings or more: retrograd diff a.json b.json")


def _format(asked: str | None, output: str) -> str:
    """Return the format; an unknown one is an error before anything is read."""
    if asked == TEXT or (asked is None and (output == STDOUT or output.endswith(".txt"))):
        return TEXT
    return renderer_for(asked or output).name


def _write(found: Lineup, fmt: str, output: str, title: str) -> None:
    """Write the comparison to a file or standard output."""
    options = RenderOptions(title=title)
    if fmt in _WHOLE:
        write_output(_WHOLE[fmt](found, options), output)
    else:
        diff = chosen_diff(found)
        drawn, options = diff_picture(diff, title or sides(found), options)
        save(drawn, output, fmt, options)


def _times(found: Lineup, _options: RenderOptions) -> str:
    """Return the times of all runs as a Chrome trace."""
    runs = [(run.name, [Ran(step.snapshot) for step in run.steps if step.snapshot is not None]) for run in found.runs]
    return trace_json(runs)


_WHOLE: dict[str, Callable[[Lineup, RenderOptions], str]] = {
    "json": lambda found, _: diff_json(found),
    "html": lineup_page,
    "chrome-trace": _times,
}
"""Formats that show the whole comparison; all others draw the two graphs that differ."""


def _names(loaded: list[Recording], paths: tuple[str, ...]) -> list[str]:
    """Return names for the recordings: their ranks if all differ, else their files."""
    ranks = [name_of(recording, number) for number, recording in enumerate(loaded)]
    if all(recording.rank is not None for recording in loaded) and len(set(ranks)) == len(ranks):
        return ranks
    short = [os.path.basename(path) for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


def _only(recording: Recording, step: int | None, path: str) -> Recording:
    """Return a recording with one step only, if one was requested."""
    if step is None:
        return recording
    count = len(recording.graphs)
    if not -count <= step < count:
        raise UsageError(
            f"There is no step {step} in {path!r}, which has {count}.", "Ask for one that all of them have."
        )
    return Recording(
        script=recording.script,
        engine=recording.engine,
        graphs=[recording.graphs[step]],
        rank=recording.rank,
        world_size=recording.world_size,
    )
