"""``retrograd render``: draw a saved recording, without the program that made it and without its engine."""

from __future__ import annotations

from typing import Any

import click

from ...errors import UsageError
from ...inspect.histories.watched_file import is_watched_file, load_run
from ...inspect.output import check_measure, drawn, save
from ...inspect.recording.loading import load_recording
from ...inspect.render import renderer_for
from ...inspect.render.console_page import print_page
from ...inspect.render.formats.tree import print_tree
from ...inspect.render.run_page import run_page
from ...inspect.render.run_tables import run_parts
from ...inspect.training.exports import export, export_for, exports
from ...inspect.writing import STDOUT, check_writable, write_output
from ..options import ConfiguredCommand, StepType, drawing_options, output_options, render_options
from ..results import refuse_one_format, refuse_overwriting


def _render_run(path: str, output: str | None, fmt: str | None, theme: str) -> None:
    """Write the page of a watched run, or print its table."""
    run = load_run(path)
    if output is None and fmt is None:
        print_page(run_parts(run))
    elif export_for(fmt or output or ""):
        if output in (None, STDOUT) and fmt != "csv":
            raise UsageError(f"{fmt} is not written to standard output.", "Name a file or folder with -o.")
        export(run, output or STDOUT, fmt)
    elif renderer_for(fmt or output or "").name == "html":
        write_output(run_page(run, theme), output or STDOUT)
    else:
        raise UsageError(
            f"{path!r} is a watched run, which is drawn as a page.",
            f"Name an .html file with -o, or one of {', '.join(exports())} with -f.",
        )


@click.command(cls=ConfiguredCommand, name="render")
@click.argument("recording")
@output_options("render", *exports(), draws=True, multiple=True, instead=" instead of printing a tree")
@click.option("--step", type=StepType(), default="last", metavar="N|last|all", help="Which backward pass is drawn.")
@drawing_options
@click.option(
    "--theme",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours of svg and html; auto follows the reader's setting.",
)
def command(output: tuple[str, ...], fmt: str | None, recording: str, **asked: Any) -> None:
    """Draw the RECORDING that `retrograd trace -o run.json` saved.

    Without -o the graph is printed as a tree.  RECORDING may be - for standard input, or a run that `retrograd watch`
    wrote, whose page is written, or with -f what other tools read: csv, parquet, or a folder for tensorboard or wandb.
    """
    # What can be known to fail is said before a long file is read.
    refuse_one_format(output, fmt)
    for path in output:
        refuse_overwriting(path, [recording], "recording")
    if is_watched_file(recording):
        for one in output or (None,):
            _render_run(recording, one, fmt, asked["theme"])
        return
    for path in output:
        check_writable(path)
        if fmt or path != STDOUT:
            renderer_for(fmt or path)
    options = render_options(asked)
    loaded = load_recording(recording)
    if not output and fmt is None:
        check_measure(loaded, options)
        print_tree(*drawn(loaded, options))
        return
    for path in output or (STDOUT,):
        save(loaded, path, fmt, options)
