"""Options and argument parsing that several commands share: which program to run, and how to draw."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import UsageError
from ..inspect.fold import STEPS
from ..inspect.recording.kept_steps import FEWEST, KEPT
from ..inspect.render import RenderOptions, renderers
from ..inspect.render.base import VIEWS

# Defaults from `[tool.retrograd]` of the current folder's `pyproject.toml`.
#
# A key there is the default of the option of that name in every command that has it; a table such as
# `[tool.retrograd.trace]` holds for one command and wins.  The environment (`RETROGRAD_TRACE_TITLE`) wins over
# both, and the command line over all.

FILE = "pyproject.toml"


def defaults_for(command: click.Command, parent: click.Context | None = None) -> dict[str, Any]:
    """Return option names and values for click; raises ``UsageError`` for an invalid file or value.

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
    """Return ``[tool.retrograd]``, empty when there is no such file or table."""
    path = Path(FILE)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} cannot be read: {error}.", "Fix it, or run from another folder.") from error
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{FILE} is not valid TOML: {error}.", "Fix it, or run from another folder.") from error
    table = tool.get("retrograd", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"tool.retrograd in {FILE} must be a table.", "Write [tool.retrograd] on a line of its own.")
    return table


def _settable(command: click.Command) -> dict[str, click.Option]:
    """Return a command's configurable options by long name, without those that say what to run."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    long = [(word, option) for option in options for word in option.opts if word.startswith("--")]
    return {word.removeprefix("--").replace("-", "_"): option for word, option in long}


def _spellings(options: dict[str, click.Option]) -> set[str]:
    """Return the keys that name an option: ``max_nodes`` and ``max-nodes``."""
    return set(options) | {name.replace("_", "-") for name in options}


def _refuse_unknown(keys: set[str], parent: click.Context) -> None:
    """Raise ``UsageError`` for a key that no command has as an option; other commands are loaded only if needed."""
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
    """Convert a TOML value for click: a list for an option that may be repeated, else one value."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    if isinstance(value, (list, dict)):
        raise UsageError(f"The key {name!r} of [tool.retrograd] in {FILE} must be one value.", "Remove the brackets.")
    return value


def _example(command: click.Command) -> str:
    """Return an example of a command's own table."""
    return f"Write [tool.retrograd.{command.name}] on a line of its own and the options below it."


Function = TypeVar("Function", bound=Callable[..., Any])


class ConfiguredCommand(click.Command):
    """A command whose options take their defaults from ``pyproject.toml``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the defaults, then parse."""
        extra.setdefault("default_map", defaults_for(self, parent))
        return super().make_context(info_name, args, parent, **extra)


class ScriptCommand(ConfiguredCommand):
    """A command that runs a program: unknown options before ``--`` are errors, never passed on to the program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an unknown option, or ``-m`` behind a script, says where the program's own options go."""
        typed = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = f"Options of the program itself go after '--': {ctx.command_path} SCRIPT -- {error.option_name}"
            message = f"{error.message} {hint}"
            raise click.NoSuchOption(error.option_name, message, error.possibilities, error.ctx) from None
        words = ctx.params.get("words")
        if words and not ctx.resilient_parsing and self._names_program_late(ctx, typed):
            raise click.UsageError(
                f"{words[0]!r} stands before -m or -c, and only one program can run. "
                f"Options of the program itself go after '--': {ctx.command_path} {words[0]} -- -m ...",
                ctx,
            )
        return rest

    def _names_program_late(self, ctx: click.Context, args: list[str]) -> bool:
        """Whether -m or -c was given, but not before the first plain word."""
        named = {name for name in ("module", "code") if ctx.params.get(name) is not None}
        if not named:
            return False
        ctx.allow_interspersed_args = False
        before_words, _, _ = self.make_parser(ctx).parse_args(args)
        return named.isdisjoint(before_words)


def program_options(command: Function) -> Function:
    """Add ``-m`` and ``-c`` to a command that runs a program."""
    code = click.option("-c", "code", metavar="CODE", allow_from_autoenv=False, help="Run CODE, as python -c does.")
    module = click.option(
        "-m", "module", metavar="MODULE", allow_from_autoenv=False, help="Run a module, as python -m does."
    )
    return module(code(command))


_FORM = "Output format, overriding FILE's suffix"


class _DrawingFormat(click.Option):
    """``--format`` of a command that draws; the formats are listed only when help is shown."""

    def __init__(self, *names: Any, besides: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.besides = besides
        """Formats of the command itself, which no renderer writes."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names of the option, and its help with all formats."""
        self.help = f"{_FORM}: {', '.join((*self.besides, *renderers()))}."
        return super().get_help_record(ctx)


def output_options(
    name: str, *forms: str, draws: bool = False, multiple: bool = False, instead: str = ""
) -> Callable[[Function], Function]:
    """Add ``-o`` and ``-f``: where to write, and in which of these formats, or of all that draw graphs.

    ``instead`` says what is not done then.
    """
    where = f"Write FILE{instead}; - is standard output{'; may be repeated' if multiple else ''}."
    settings: dict[str, Any] = {"envvar": f"RETROGRAD_{name.upper()}_FORMAT"}
    if draws:
        settings |= {"cls": _DrawingFormat, "besides": forms, "metavar": "FORMAT"}
    else:
        settings |= {"type": click.Choice(forms), "help": f"{_FORM}."}
    output = click.option("-o", "--output", multiple=multiple, type=click.Path(), metavar="FILE", help=where)
    form = click.option("-f", "--format", "fmt", **settings)
    return lambda command: output(form(command))


def check_option(command: Function) -> Function:
    """Add the option that skips the check of custom Functions to a command that records everything."""
    option = click.option(
        "--check/--no-check",
        default=True,
        show_default=True,
        help="When SCRIPT has ended, call its custom Functions again and compare backward with finite differences.",
    )
    return option(command)


def eager_option(command: Function) -> Function:
    """Add the option that runs what a program compiles uncompiled."""
    option = click.option(
        "--eager",
        is_flag=True,
        help="Run what torch.compile compiles uncompiled, so that its layers and lines are recorded.",
    )
    return option(command)


def children_option(command: Function) -> Function:
    """Add the option that also records the processes that a program starts."""
    option = click.option(
        "--children",
        is_flag=True,
        help="Also record each Python process that SCRIPT starts: by fork, multiprocessing or a command.",
    )
    return option(command)


def digest_option(command: Function) -> Function:
    """Add the option that lets ranks compare digests while they run."""
    option = click.option(
        "--digest",
        is_flag=True,
        help="For jobs of many ranks: compare digests of the parameters after each optimizer step, in a tree, and "
        "keep the recordings of rank 0 and, where ranks differ, of a few ranks on each side.",
    )
    return option(command)


class KeepType(click.ParamType):  # type: ignore[type-arg]
    """A number of steps, from 4 on, or ``all``, which is None."""

    name = "keep"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Return how many steps are kept."""
        if value is None or value == "all":
            return None
        try:
            count = int(value)
        except (TypeError, ValueError):
            count = 0
        if count < FEWEST:
            self.fail(f"{value!r} is not 'all' or a whole number from {FEWEST} on.", param, ctx)
        return count


def keep_option(command: Function) -> Function:
    """Add the option that says how many steps of a long program are kept."""
    option = click.option(
        "--keep",
        type=KeepType(),
        default=str(KEPT),
        show_default=True,
        metavar="N|all",
        help="Keep at most N steps in full: the first, the last, those in which something changed or went wrong, "
        "and a sample; the other steps are only summed up.",
    )
    return option(command)


class StepType(click.ParamType):  # type: ignore[type-arg]  # no parameters before click 8.3
    """``last``, ``all`` or the number of a backward pass, counted from 0 (negative: from the end)."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the step as the renderers expect it."""
        if value in ("last", "all"):
            return str(value)
        try:
            return int(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not 'last', 'all' or a whole number.", param, ctx)


class StepsType(click.ParamType):  # type: ignore[type-arg]
    """Names of folding steps, separated by commas."""

    name = "steps"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the steps; raises for an unknown name, with the list of valid ones."""
        if isinstance(value, tuple):
            return value
        wanted = tuple(word.strip() for word in str(value).split(",") if word.strip())
        unknown = [word for word in wanted if word not in STEPS]
        if unknown:
            self.fail(f"There is no step {unknown[0]!r} of folding. There are: {', '.join(STEPS)}.", param, ctx)
        return wanted


def drawing_options(function: Function) -> Function:
    """Add the options that say how a graph is drawn; ``render_options`` reads them."""
    for option in reversed(
        (
            click.option("--layout", type=click.Choice(["layered", "dot"]), default="layered", help="Layout engine."),
            click.option(
                "--view",
                type=click.Choice(VIEWS),
                help="Direction of edges: gradients, values or both (the default for pages).",
            ),
            click.option(
                "--color-by",
                metavar="MEASURE",
                help="Colour by a measure: time, grad-norm, saved-bytes, nonfinite, zero-share.",
            ),
            click.option("--no-fold", is_flag=True, help="Draw every node, without modules and repeats."),
            click.option(
                "--fold", type=StepsType(), metavar="STEPS", help=f"Apply only these folding steps: {', '.join(STEPS)}."
            ),
            click.option(
                "--expand",
                multiple=True,
                metavar="SCOPE",
                help="Open this module or scope (or 'all'); may be repeated.",
            ),
            click.option(
                "--max-boxes", type=click.IntRange(min=1), help="Open scopes up to this many boxes; default 20."
            ),
            click.option("--max-nodes", type=click.IntRange(min=1), help="Draw this many nodes, nearest to the loss."),
            click.option("--title", default="", metavar="TEXT", help="Headline of the drawing."),
        )
    ):
        function = option(function)
    return function


def render_options(asked: dict[str, Any]) -> RenderOptions:
    """Return the drawing options of a command as ``RenderOptions``."""
    if asked.get("no_fold"):
        asked = {**asked, "fold": ()}
    return RenderOptions(**{field.name: asked[field.name] for field in fields(RenderOptions) if field.name in asked})
