"""``GroupSettings``: what an optimizer's groups are set to, told with each of its actions at next to no cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from types import NoneType
from typing import Any

from ..bounded import BoundedDict

SETTINGS = ("lr", "momentum", "weight_decay", "betas")
"""Those that decide whether, and how far, a step moves a parameter."""


class GroupSettings:
    """Settings of groups, as one object for all events between two changes, which nobody changes."""

    def __init__(self) -> None:
        self._told: BoundedDict[tuple[tuple[Any, ...], ...], list[dict[str, Any]]] = BoundedDict(1_000)
        self._latest: tuple[list[Any], list[dict[str, Any]]] = ([], [])
        """Plain numbers that groups held at the latest look, with what was told of them: mostly they still do."""

    def of(self, groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return, for each group, those settings that are plain numbers; a rate in a tensor is not looked into."""
        held = [group.get(setting) for group in groups for setting in SETTINGS]
        known, told = self._latest  # read once: other threads set it, too
        if len(held) == len(known) and all(map(is_, held, known)):
            return told
        plain = list(map(_plain, held))
        values = tuple([tuple(plain[i : i + len(SETTINGS)]) for i in range(0, len(plain), len(SETTINGS))])
        found = self._told.get(values)
        if found is None:
            found = self._told[values] = [_named(group) for group in values]
        if all(map(_is_fixed, held)):
            self._latest = held, found
        return found


def _plain(value: Any) -> Any:
    """Return a number or a pair of them, None in place of anything else."""
    if type(value) in (float, int):
        return value
    return tuple(map(_plain, value)) if type(value) in (tuple, list) else None


def _is_fixed(value: Any) -> bool:
    """Whether a value can be kept and stays what it is: a number, a tuple of some, or none at all."""
    return all(map(_is_fixed, value)) if type(value) is tuple else type(value) in (float, int, NoneType)


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the settings of one group by name, without those that it has not."""
    given = zip(SETTINGS, values, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given if value is not None}
