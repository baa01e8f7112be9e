"""``retrograd samples``: lists the installed sample programs, or draws the graph of one."""

from __future__ import annotations

from typing import Any

import click

from ...inspect.output import save, with_findings
from ...inspect.render.formats.tree import print_tree
from ...inspect.writing import STDOUT, write_output
from .. import results, samples
from ..options import ConfiguredCommand, drawing_options, output_options, render_options


@click.command(cls=ConfiguredCommand, name="samples")
@click.argument("name", required=False)
@output_options("samples", draws=True, instead=" instead of printing a tree")
@drawing_options
def command(name: str | None, output: str | None, fmt: str | None, **asked: Any) -> None:
    """List the sample programs, or show the graph of one.

    The programs are there to be read and changed; the list begins with their folder.
    """
    if name is None:
        _list()
        return
    samples.path_of(name)  # a wrong name is said before a wrong output
    plan = results.plan((output or STDOUT,), fmt) if output or fmt else []
    recorded = samples.record(name)
    options = render_options(asked)
    if plan:
        save(recorded, plan[0].path, plan[0].fmt, options)
    else:
        write_output(samples.description(name) + "\n\n", STDOUT)
        print_tree(recorded, with_findings(recorded, options))


def _list() -> None:
    """Print the folder and one line for each sample."""
    names = samples.names()
    width = max(map(len, names), default=0)
    lines = [f"Sample programs in {samples.folder()}:", ""]
    lines += [f"  {name:<{width}}  {samples.description(name).partition(chr(10))[0]}" for name in names]
    lines += ["", "Show one with 'retrograd samples NAME', or draw it with '-o graph.svg'.", ""]
    write_output("\n".join(lines), STDOUT)
