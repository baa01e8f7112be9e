"""``retrograd samples``: the small programs that come along, and the graph of one of them."""

from __future__ import annotations

from typing import Any

import click

from ...inspect.output import save, with_findings
from ...inspect.render.tree import print_tree
from .. import results, samples
from ..options import ConfiguredCommand, drawing_options, render_options


@click.command(cls=ConfiguredCommand, name="samples")
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Write FILE instead of showing the tree.")
@click.option(
    "-f",
    "--format",
    "fmt",
    envvar="RETROGRAD_SAMPLES_FORMAT",
    metavar="FORMAT",
    help="Format of the output; by default its suffix says it.",
)
@drawing_options
def command(name: str | None, output: str | None, fmt: str | None, **asked: Any) -> None:
    """List the sample programs, or build the sample NAME and show its graph.

    The programs are there to be read and changed; the list begins with their folder.
    """
    if name is None:
        _list()
        return
    samples.path_of(name)  # a wrong name is said before a wrong output
    plan = results.plan((output,) if output else (), fmt if output else None)
    recorded = samples.record(name)
    options = render_options(asked)
    if plan:
        save(recorded, plan[0].path, plan[0].fmt, options)
    else:
        click.echo(samples.description(name) + "\n")
        print_tree(recorded, with_findings(recorded, options))


def _list() -> None:
    """Print the folder and one line for each sample."""
    names = samples.names()
    width = max(map(len, names), default=0)
    click.echo(f"Sample programs in {samples.folder()}:\n")
    for name in names:
        click.echo(f"  {name:<{width}}  {samples.description(name).partition(chr(10))[0]}")
    click.echo("\nShow one with 'retrograd samples NAME', or draw it with '-o graph.svg'.")
