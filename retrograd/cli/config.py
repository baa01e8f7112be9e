"""Defaults from ``[tool.retrograd]`` of the current folder's ``pyproject.toml``.

A key there is the default of the option of that name in every command that has it; a table such as
``[tool.retrograd.trace]`` holds for one command and wins.  The environment (``RETROGRAD_TRACE_TITLE``) wins over
both, and the command line over all.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError

FILE = "pyproject.toml"


def defaults_for(command: click.Command, parent: click.Context | None = None) -> dict[str, Any]:
    """Return option name -> value as click wants it; raises ``UsageError`` for a file or value that makes no sense.

    ``parent`` knows the other commands, for a key that this one has not may be theirs.
    """
    table = _tool_table()
    options = _settable(command)
    own = table.get(command.name or "", {})
    if not isinstance(own, dict):
        raise UsageError(f"[tool.retrograd] {command.name} in {FILE} must be a table.", _example(command))
    unknown = sorted(set(own) - _spellings(options))
    if unknown:
        known = ", ".join(sorted(option.replace("_", "-") for option in options))
        raise UsageError(
            f"[tool.retrograd.{command.name}] in {FILE} has the unknown key {unknown[0]!r}.", f"Keys: {known}."
        )
    shared = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if parent is not None:
        _refuse_unknown(set(shared) - _spellings(options), parent)
    merged = {key.replace("-", "_"): value for key, value in {**shared, **own}.items()}
    return {
        option.name: _fitting(merged[key], option, key)
        for key, option in options.items()
        if key in merged and option.name is not None
    }


def _tool_table() -> dict[str, Any]:
    """Return ``[tool.retrograd]``, or nothing when there is no such file or table."""
    path = Path(FILE)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} cannot be read: {error}.", "Mend it, or run from another folder.") from error
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{FILE} is not valid TOML: {error}.", "Mend it, or run from another folder.") from error
    table = tool.get("retrograd", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"tool.retrograd in {FILE} must be a table.", "Write [tool.retrograd] on a line of its own.")
    return table


def _settable(command: click.Command) -> dict[str, click.Option]:
    """Return a command's configurable options by long name; arguments that say what to run have none."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    long = [(word, option) for option in options for word in option.opts if word.startswith("--")]
    return {word.removeprefix("--").replace("-", "_"): option for word, option in long}


def _spellings(options: dict[str, click.Option]) -> set[str]:
    """Return the keys that name an option: ``max_nodes`` and ``max-nodes``."""
    return set(options) | {name.replace("_", "-") for name in options}


def _refuse_unknown(keys: set[str], parent: click.Context) -> None:
    """Raise ``UsageError`` for a key that is an option of no command; the others are loaded only if there is one."""
    group = parent.command
    if not keys or not isinstance(group, click.Group):
        return
    commands = [group.get_command(parent, name) for name in group.list_commands(parent)]
    known = set().union(*(_spellings(_settable(command)) for command in commands if command is not None))
    for key in sorted(keys - known - {*group.list_commands(parent)}):
        near = difflib.get_close_matches(key, sorted(known), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Keys are the long options of commands, such as 'layout'."
        raise UsageError(f"[tool.retrograd] in {FILE} has the unknown key {key!r}.", hint)


def _fitting(value: Any, option: click.Option, name: str) -> Any:
    """Return a value from TOML as click takes it: a list for an option that may be repeated, else one value."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    if isinstance(value, (list, dict)):
        raise UsageError(f"The key {name!r} of [tool.retrograd] in {FILE} must be one value.", "Remove the brackets.")
    return value


def _example(command: click.Command) -> str:
    """Return how to write a command's own table."""
    return f"Write [tool.retrograd.{command.name}] on a line of its own and the options below it."
