"""``retrograd render``: draw a saved recording, without the program that made it and without its engine."""

from __future__ import annotations

from typing import Any

import click

from ...errors import UsageError
from ...inspect.loading import load_recording
from ...inspect.output import check_measure, drawn, save
from ...inspect.render import renderer_for
from ...inspect.render.console_page import print_page
from ...inspect.render.formats.tree import print_tree
from ...inspect.render.run_page import run_page
from ...inspect.render.run_tables import run_parts
from ...inspect.watch.watched_file import is_watched_file, load_run
from ...inspect.writing import STDOUT, check_writable, write_output
from ..options import ConfiguredCommand, StepType, drawing_options, output_options, render_options
from ..results import refuse_overwriting


def _render_run(path: str, output: str | None, fmt: str | None, theme: str) -> None:
    """Write the page of a watched run, or print its table."""
    run = load_run(path)
    if output is None and fmt is None:
        print_page(run_parts(run))
    elif renderer_for(fmt or output or "").name == "html":
        write_output(run_page(run, theme), output or STDOUT)
    else:
        raise UsageError(f"{path!r} is a watched run, which is drawn as a page.", "Name an .html file with -o.")


@click.command(cls=ConfiguredCommand, name="render")
@click.argument("recording")
@output_options("render", draws=True, instead=" instead of printing a tree")
@click.option("--step", type=StepType(), default="last", metavar="N|last|all", help="Which backward run is drawn.")
@drawing_options
@click.option(
    "--theme",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours of svg and html; auto follows the reader's setting.",
)
def command(output: str | None, fmt: str | None, recording: str, **asked: Any) -> None:
    """Draw the RECORDING that `retrograd trace -o run.json` saved.

    Without -o the graph is printed as a tree.  RECORDING may be - for standard input, or a run that `retrograd watch`
    wrote, whose page is written.
    """
    # What can be known to fail is said before a long file is read.
    if output is not None:
        check_writable(output)
        refuse_overwriting(output, [recording], "recording")
    if fmt or output not in (None, "-"):
        renderer_for(fmt or output or "")
    if is_watched_file(recording):
        _render_run(recording, output, fmt, asked["theme"])
        return
    options = render_options(asked)
    loaded = load_recording(recording)
    if output is None and fmt is None:
        check_measure(loaded, options)
        print_tree(*drawn(loaded, options))
    else:
        save(loaded, output or "-", fmt, options)
