"""``retrograd mcp``: serve the commands to coding agents."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from ...errors import UsageError
from ..options import ConfiguredCommand


@click.command(cls=ConfiguredCommand, name="mcp")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
def command(folder: Path) -> None:
    """Serve the commands to a coding agent.

    It speaks MCP on stdin and stdout, with the tools diagnose, trace, why, stats and diff.  They name files in FOLDER
    (the current one) and none outside.  Programs run as processes of their own, with this interpreter, for a limited
    time; what they print is part of the answer.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("The package mcp is not installed.", "Install it: pip install 'retrograd[mcp]'")
    from ..agents.server import server

    server(folder).run("stdio")
