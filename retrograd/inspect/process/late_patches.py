"""Wraps functions of modules that may not have been imported yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..sources.importing import AfterImport
from ..sources.patches import Patches


class Patched(NamedTuple):
    """A function, or a method of a class, and what makes a wrapper of it."""

    module: str
    name: str
    """``function`` or ``Class.method``."""
    make: Callable[[Any], Any]


@contextmanager
def patched(places: Iterable[Patched]) -> Iterator[None]:
    """Put wrappers in place, each as soon as its module is there, until the block ends; what is missing is left out."""
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
    """Puts one wrapper in place as soon as the module is there."""

    def __init__(self, patches: Patches, place: Patched) -> None:
        self._patches, self._place = patches, place
        self._there = place.module in sys.modules
        self._import = AfterImport(place.module, self._put)

    def begin(self) -> None:
        """Put it in place now, or later."""
        if self._there:
            self._put()
        else:
            self._import.begin()

    def end(self) -> None:
        """Wait no more."""
        if not self._there:
            self._import.end()

    def _put(self) -> None:
        holder: Any = sys.modules[self._place.module]
        *classes, name = self._place.name.split(".")
        for one in classes:
            holder = getattr(holder, one, None)
        self._patches.wrap(holder, name, self._place.make)
