"""What commands share: how those that run a program read their arguments, and the options that say how to draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from ..inspect.render import RenderOptions
from .config import defaults_for

Function = TypeVar("Function", bound=Callable[..., Any])


class ConfiguredCommand(click.Command):
    """A command whose options take their defaults from ``pyproject.toml``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the defaults, then parse."""
        extra.setdefault("default_map", defaults_for(self))
        return super().make_context(info_name, args, parent, **extra)


class ScriptCommand(ConfiguredCommand):
    """A command that runs a program: what it does not know before ``--`` is refused, never passed on."""

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


class StepType(click.ParamType):  # type: ignore[type-arg]  # no parameters before click 8.3
    """``last``, ``all`` or the number of a backward run, counted from 0 (negative: from the end)."""

    name = "step"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the step as the renderers take it."""
        if value in ("last", "all"):
            return str(value)
        try:
            return int(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not 'last', 'all' or a whole number.", param, ctx)


def drawing_options(function: Function) -> Function:
    """Give a command the options that say how a graph is drawn; ``render_options`` reads them."""
    for option in reversed(
        (
            click.option(
                "--layout", type=click.Choice(["layered", "dot"]), default="layered", help="Who places nodes."
            ),
            click.option("--color-by", metavar="MEASURE", help="Colour nodes by a measure, such as saved_bytes."),
            click.option("--max-nodes", type=click.IntRange(min=1), help="Draw this many nodes, nearest to the loss."),
            click.option("--title", default="", metavar="TEXT", help="Headline of the drawing."),
        )
    ):
        function = option(function)
    return function


def render_options(asked: dict[str, Any]) -> RenderOptions:
    """Return what a command was asked for as the renderers take it."""
    return RenderOptions(**{field.name: asked[field.name] for field in fields(RenderOptions) if field.name in asked})
