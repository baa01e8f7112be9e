"""The settings of an optimizer's groups at each of its actions, recorded cheaply, and the line that set them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import is_
from types import NoneType
from typing import Any

from ..bounded import BoundedDict
from ..program.assignments import line_setting_entry
from ..program.places import SourceLine

SETTINGS = ("lr", "momentum", "weight_decay", "betas")
"""Those that decide whether, and how far, a step moves a parameter."""


class GroupSettings:
    """Settings of groups, as one shared object for all events between two changes; never modified."""

    def __init__(self) -> None:
        self._reported: BoundedDict[tuple[tuple[Any, ...], ...], list[dict[str, Any]]] = BoundedDict(1_000)
        self._latest: tuple[list[Any], list[dict[str, Any]]] = ([], [])
        """Numbers in the groups when last read, with the reported settings: mostly they are unchanged."""

    def of(self, groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return, for each group, the settings that are plain numbers; a rate in a tensor is not read."""
        held = [group.get(setting) for group in groups for setting in SETTINGS]
        known, reported = self._latest  # read once: other threads set it, too
        if len(held) == len(known) and all(map(is_, held, known)):
            return reported
        plain = list(map(_plain, held))
        values = tuple([tuple(plain[i : i + len(SETTINGS)]) for i in range(0, len(plain), len(SETTINGS))])
        found = self._reported.get(values)
        if found is None:
            found = self._reported[values] = [_named(group) for group in values]
        if all(map(_is_fixed, held)):
            self._latest = held, found
        return found


class SettingsLines:
    """The line that last changed the settings of each optimizer, where known."""

    def __init__(self) -> None:
        self._latest: BoundedDict[int, tuple[list[dict[str, Any]], SourceLine | None]] = BoundedDict(1_000)
        self._written: dict[tuple[str, int], SourceLine | None] = {}
        """By setting, and by how many files were searched."""

    def scheduled(self, optimizer: int, settings: list[dict[str, Any]], line: SourceLine | None) -> None:
        """Note that a schedule, made or stepped by this line, has set an optimizer's groups."""
        known = self._latest.get(optimizer)
        if known is None or known[0] != settings:
            self._latest[optimizer] = settings, line

    def of(self, optimizer: int, settings: list[dict[str, Any]], files: Callable[[], list[str]]) -> SourceLine | None:
        """Return the line for an optimizer that has these settings now; None for those it was made with."""
        known = self._latest.get(optimizer)
        if known is None:
            known = self._latest[optimizer] = settings, None
        elif known[0] is not settings and known[0] != settings:  # written by hand
            known = self._latest[optimizer] = settings, self._line_of(_changed(known[0], settings), files())
        return known[1]

    def _line_of(self, setting: str, files: list[str]) -> SourceLine | None:
        """Return the one line of the program that writes a setting."""
        key = setting, len(files)
        if key not in self._written:
            self._written[key] = line_setting_entry(setting, files)
        return self._written[key]


def _changed(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    """Return the first setting that changed in any group."""
    pairs = list(zip(before, now, strict=False))
    return next((one for one in SETTINGS for old, new in pairs if old.get(one) != new.get(one)), SETTINGS[0])


def _plain(value: Any) -> Any:
    """Return a number or a pair of numbers, None for anything else."""
    if type(value) in (float, int):
        return value
    return tuple(map(_plain, value)) if type(value) in (tuple, list) else None


def _is_fixed(value: Any) -> bool:
    """Whether a value is immutable: a number, a tuple of some, or None."""
    return all(map(_is_fixed, value)) if type(value) is tuple else type(value) in (float, int, NoneType)


def _named(values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the settings of one group by name, without missing ones."""
    given = zip(SETTINGS, values, strict=True)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given if value is not None}
