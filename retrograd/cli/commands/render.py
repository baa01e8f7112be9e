"""``retrograd render``: draw a saved recording, without the program that made it and without its engine."""

from __future__ import annotations

import click

from retrograd.cli.options import ConfiguredCommand, StepType
from retrograd.inspect.output import check_measure, check_writable, save
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.json_ import load_recording
from retrograd.inspect.render.tree import print_tree


@click.command(cls=ConfiguredCommand, name="render")
@click.argument("recording")
@click.option("-o", "--output", help="File to write; its suffix tells the format; - is standard output.")
@click.option(
    "-f",
    "--format",
    "fmt",
    envvar="RETROGRAD_RENDER_FORMAT",
    help="Format, whatever the suffix: svg, html, dot, tree, json, mermaid.",
)
@click.option("--step", type=StepType(), default="last", metavar="N|last|all", help="Which backward run is drawn.")
@click.option(
    "--layout",
    type=click.Choice(["layered", "dot"]),
    default="layered",
    show_default=True,
    help="Who places the cards: retrograd itself, or Graphviz.",
)
@click.option("--color-by", metavar="MEASURE", help="Colour the cards by a measure, such as saved_bytes.")
@click.option("--max-nodes", type=click.IntRange(min=1), help="Draw at most this many nodes, nearest to the loss.")
@click.option(
    "--theme",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours of svg and html; auto follows the reader's setting.",
)
@click.option("--title", default="", help="Headline of the drawing.")
def command(output: str | None, fmt: str | None, recording: str, **asked: str | int | None) -> None:
    """Draw the RECORDING that `retrograd trace -o run.json` saved.

    Without -o the graph is printed as a tree.  RECORDING may be - for standard input.
    """
    # What can be known to fail is said before a long file is read.
    if output is not None:
        check_writable(output)
    if fmt or output not in (None, "-"):
        renderer_for(fmt or output or "")
    options = RenderOptions(**asked)  # type: ignore[arg-type]  # click has checked the values
    loaded = load_recording(recording)
    if output is None and fmt is None:
        check_measure(loaded, options)
        print_tree(loaded, options)
    else:
        save(loaded, output or "-", fmt, options)
