"""Wraps functions of modules that may not have been imported yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..sources.importing import AfterImport
from ..sources.patches import Patches


class Patched(NamedTuple):
    """A function, or a method of a class, and the function that wraps it."""

    module: str
    name: str
    """``function`` or ``Class.method``."""
    make: Callable[[Any], Any]


@contextmanager
def patched(places: Iterable[Patched]) -> Iterator[None]:
    """Wrap functions until the block ends, each as soon as its module is imported; missing ones are skipped."""
    patches = Patches()
    waiting = [_Waiting(patches, place) for place in places]
    try:
        for one in waiting:
            one.begin()
        yield
    finally:
        for one in waiting:
            one.end()
        patches.undo()


class _Waiting:
    """Wraps one function as soon as its module is imported."""

    def __init__(self, patches: Patches, place: Patched) -> None:
        self._patches, self._place = patches, place
        self._there = place.module in sys.modules
        self._import = AfterImport(place.module, self._put)

    def begin(self) -> None:
        """Wrap now, or after the import."""
        if self._there:
            self._put()
        else:
            self._import.begin()

    def end(self) -> None:
        """Stop waiting."""
        if not self._there:
            self._import.end()

    def _put(self) -> None:
        holder: Any = sys.modules[self._place.module]
        *classes, name = self._place.name.split(".")
        for one in classes:
            holder = getattr(holder, one, None)
        self._patches.wrap(holder, name, self._place.make)
