"""``GroupSettings``: what an optimizer's groups are set to, told with each of its actions at next to no cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..bounded import BoundedDict

SETTINGS = ("lr", "momentum", "weight_decay", "betas")
"""Those that decide whether, and how far, a step moves a parameter."""


class GroupSettings:
    """Settings of groups, as one object for all events between two changes, which nobody changes."""

    def __init__(self) -> None:
        self._told: BoundedDict[tuple[tuple[Any, ...], ...], list[dict[str, Any]]] = BoundedDict(1_000)

    def of(self, groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return, for each group, those settings that are plain numbers; a rate in a tensor is not looked into."""
        values = tuple([tuple([_plain(group.get(setting)) for setting in SETTINGS]) for group in groups])
        told = self._told.get(values)
        if told is None:
            told = self._told[values] = [_named(group) for group in values]
        return told


def _plain(value: Any) -> Any:
    """Return a number or a pair of them, None in place of anything else."""
    if type(value) in (float, int):
        return value
    return tuple(map(_plain, value)) if type(value) in (tuple, list) else None


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the settings of one group by name, without those that it has not."""
    given = zip(SETTINGS, values, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given if value is not None}
