"""What commands that run a program share: how they read their arguments, and the ``--step`` option's values."""

from __future__ import annotations

from typing import Any

import click

from .config import defaults_for


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
        """Parse; an unknown option says where the program's own options go."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = f"Options of the program itself go after '--': {ctx.command_path} SCRIPT -- {error.option_name}"
            raise click.NoSuchOption(
                error.option_name, f"{error.message} {hint}", error.possibilities, error.ctx
            ) from None


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
