"""``retrograd ops``: lists the operators of our engine, with what is known about each."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import click

import retrograd

from ...inspect.writing import STDOUT, check_writable, write_output
from ..options import ConfiguredCommand, output_options

if TYPE_CHECKING:
    from ...catalogue import Operator

FAMILIES = {
    "float": ("float16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
    "int": ("uint8", "int8", "int16", "int32", "int64"),
    "uint": ("uint16", "uint32", "uint64"),
    "bool": ("bool",),
}
"""Names of families of dtypes in the table."""


@click.command(cls=ConfiguredCommand, name="ops")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@output_options("ops", "json", "text")
def command(words: tuple[str, ...], output: str | None, fmt: str | None) -> None:
    """List the operators of the engine, and what is known of each.

    Shows its node, the dtypes it takes, and whether it is a view or also works in place.

    With WORDs only those whose name or node contains each of them.  Exit code 1 when there is none.
    """
    if output not in (None, STDOUT):
        check_writable(output)
    found = retrograd.catalogue.operators(words)  # loads the engine, which other commands' help can do without
    fmt = fmt or ("json" if (output or "").endswith(".json") else "text")
    if found or fmt == "json":
        write_output(as_json(found) if fmt == "json" else as_table(found), output or STDOUT)
    if not found:
        click.echo(f"no operator has {' and '.join(map(repr, words))} in its name or node", err=True)
        raise SystemExit(1)


def as_json(found: list[Operator]) -> str:
    """Return all that is known of the operators, as a JSON document with a schema number."""
    rows = [dataclasses.asdict(one) for one in found]
    return json.dumps({"schema": 1, "operators": rows}, indent=1) + "\n"


def as_table(found: list[Operator]) -> str:
    """Return the operators as a table, one on each line."""
    head = ("operator", "node", "dtypes", "view", "in place")
    lines = [head, *((one.name, one.node or "-", dtypes_in_short(one.dtypes), _mark(one.view), _mark(one.in_place))
                     for one in found)]  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    text = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([*text, f"{len(found)} operator{'s' * (len(found) != 1)}"]) + "\n"


def _mark(fact: bool) -> str:
    return "yes" if fact else "-"


def dtypes_in_short(dtypes: tuple[str, ...]) -> str:
    """Return dtypes as text: complete families by their name, others one by one."""
    words = []
    for family, members in FAMILIES.items():
        have = [name for name in members if name in dtypes]
        words.extend([family] if len(have) == len(members) else have)
    return " ".join(words) or "-"
