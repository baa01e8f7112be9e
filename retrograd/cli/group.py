"""The click group of the ``retrograd`` command: its commands are the modules of ``cli/commands``, each loaded on use.

A command module exposes a click command called ``command``; its file name is the command's name.  There is no
second list to edit, and ``retrograd --help`` and ``--version`` import none of them.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from difflib import get_close_matches
from typing import Any

import click

from ..errors import OutputError, RetrogradError
from . import commands
from .interrupts import leave_by_interrupt, silent_interrupt
from .messages import INTERRUPTED, forget_stdout, leave_by_broken_pipe, one_line, say
from .requested import RequestedRun


class CommandFolder(click.Group):
    """A click group that finds its commands by listing ``cli/commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted; imports none of them."""
        return sorted(_command_modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command called ``cmd_name``, or None when there is no such file."""
        module_name = _command_modules().get(cmd_name)
        if module_name is None:
            return None
        with silent_interrupt():
            module = importlib.import_module(f"{commands.__name__}.{module_name}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.command must be a click command, not {type(command).__name__}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was typed; for a misspelt one, suggest the nearest name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = get_close_matches(args[0], _command_modules(), n=1)
            if not meant:
                raise
            raise click.UsageError(f"{error.message} Did you mean {meant[0]!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; their docstrings are read from files, which is faster than to import them."""
        names = _command_modules()
        room = formatter.width - 6 - max(map(len, names))
        rows = [(name, click.Command(name, help=_doc(names[name])).get_short_help_str(room)) for name in sorted(names)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of our own becomes one line on stderr and its exit code, and signals end it.

        Left to click, Ctrl-C and a reader who has gone would be exit code 1: to ``diff`` and ``diagnose`` that is a
        difference or a finding.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say(INTERRUPTED)
            leave_by_interrupt()
        except BrokenPipeError:
            leave_by_broken_pipe()
        except RetrogradError as error:
            click.echo(f"retrograd: error: {one_line(str(error))}", err=True)
            ctx.exit(error.exit_code)


def _command_modules() -> dict[str, str]:
    """Return command name -> module name for every module in the folder."""
    names = (module.name for module in pkgutil.iter_modules(commands.__path__))
    return {name.rstrip("_").replace("_", "-"): name for name in names if not name.startswith("_")}


def _doc(module_name: str) -> str | None:
    """Return the docstring of a module's ``command``, which is not imported for it if its source is installed."""
    try:
        source = pkgutil.get_data(commands.__name__, f"{module_name}.py")
    except OSError:  # stripped installations have compiled files only
        command: click.Command = importlib.import_module(f"{commands.__name__}.{module_name}").command
        return command.help
    functions = [item for item in ast.parse(source or b"").body if isinstance(item, ast.FunctionDef)]
    return next((ast.get_docstring(function) for function in functions if function.name == "command"), None)


def installed_version() -> str:
    """Return the version of the installed distribution, or say that there is none."""
    from importlib import metadata  # brings a parser of e-mails along, which no other command should wait for

    try:
        return metadata.version("retrograd")
    except metadata.PackageNotFoundError:
        return "unknown (run from a checkout that is not installed)"


def _show_version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    """Print name and version and stop, when ``--version`` was given."""
    if asked and not ctx.resilient_parsing:
        click.echo(f"retrograd {installed_version()}")
        ctx.exit()


@click.group(
    cls=CommandFolder,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "RETROGRAD"},
    epilog="Exit codes: 2 usage or unreadable input, 3 could not write or draw; a traced script keeps its own.",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    allow_from_autoenv=False,  # RETROGRAD_VERSION in the environment must not turn every call into this one
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """See and debug the backward graph of a retrograd or PyTorch program."""


def requested_run() -> RequestedRun:
    """Run the command that was typed; return the program that it asks to run, or end the process."""
    try:
        wanted = _outcome()
    except OSError as error:  # of help and version, which click prints
        if error.errno not in OutputError.FULL:
            raise
        forget_stdout()
        say(f"error: Could not write standard output: {error.strerror}. Free some space, or write to another disk.")
        raise SystemExit(OutputError.exit_code) from None
    if wanted is None or isinstance(wanted, int):
        raise SystemExit(wanted)
    return wanted


def _outcome() -> RequestedRun | int | None:
    """Run the command that was typed and return its result or exit code; the caller handles Ctrl-C."""
    try:
        outcome: RequestedRun | int | None = cli.main(prog_name="retrograd", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as stop:  # what click makes of a KeyboardInterrupt before a command is invoked
        raise (stop.__cause__ or stop) from None
    return outcome
