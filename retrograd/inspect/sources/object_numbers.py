"""``ObjectNumbers``: numbers of modules, optimizers and the like, which identify them in events."""

from __future__ import annotations

import itertools
from typing import Any

from ..references import Reference


class ObjectNumbers:
    """Object -> its number, in the order in which they are met; a number is never given to another one.

    Which object it is decides, not what its class calls equal.  None is kept alive.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Reference, int]] = {}
        """By id, which another object may have when this one is gone."""
        self._next = itertools.count()  # how many are known shrinks as objects go

    def find(self, thing: Any) -> int | None:
        """Return the number of an object, None if it was not met yet."""
        reference, number = self._known.get(id(thing), _NOBODY)
        return number if reference is not None and reference() is thing else None

    def of(self, thing: Any) -> int:
        """Return the number of an object, which is met now if it was not before."""
        number = self.find(thing)
        if number is None:
            key, number = id(thing), next(self._next)
            self._known[key] = Reference(thing, lambda reference: self._forget(key, reference)), number
        return number

    def _forget(self, key: int, reference: Reference) -> None:
        """Leave out an object that is gone, unless another one has taken its place."""
        if self._known.get(key, _NOBODY)[0] is reference:
            del self._known[key]


_NOBODY = (None, -1)
