"""``ObjectNumbers``: numbers of modules, optimizers and the like, which identify them in events."""

from __future__ import annotations

import itertools
from typing import Any

from ..references import Reference


class ObjectNumbers:
    """Object -> its number, in the order of their first use; numbers are never reused.

    Objects are compared by identity, and not kept alive.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Reference, int]] = {}
        """By id, which another object may have after this one was freed."""
        self._next = itertools.count()  # how many are known shrinks as objects go

    def find(self, thing: Any) -> int | None:
        """Return the number of an object, None if it has none."""
        reference, number = self._known.get(id(thing), _NOBODY)
        return number if reference is not None and reference() is thing else None

    def of(self, thing: Any) -> int:
        """Return the number of an object; a new one gets the next number."""
        number = self.find(thing)
        if number is None:
            key, number = id(thing), next(self._next)
            self._known[key] = Reference(thing, lambda reference: self._forget(key, reference)), number
        return number

    def _forget(self, key: int, reference: Reference) -> None:
        """Remove a freed object, unless another one has taken its id."""
        if self._known.get(key, _NOBODY)[0] is reference:
            del self._known[key]


_NOBODY = (None, -1)
