"""Locks that a forked child finds released.

Only the forking thread exists in a child: a lock that another thread held at that moment would never be released there,
and a program that forks while its threads compute would hang because it is watched.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

from .interpreter import reopen

Value = TypeVar("Value")

_made: weakref.WeakSet[Any] = weakref.WeakSet()


def lock() -> Any:
    """Return a lock."""
    return _entered(threading.Lock())


def reentrant_lock() -> Any:
    """Return a lock that its thread may take again: a signal handler, say, or a finalizer."""
    return _entered(threading.RLock())


class once(Generic[Value]):  # noqa: N801 - used as a decorator, like property
    """An attribute that is computed at its first reading, by one thread.

    ``functools.cached_property`` holds a lock meanwhile that a child does not find open, or from Python 3.12 on none.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self._lock = reentrant_lock()
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        """Compute the attribute, and keep it where the next reading finds it first."""
        if instance is None:
            return self
        known = vars(instance)
        with self._lock:
            if self._name not in known:
                known[self._name] = self._compute(instance)
        found: Value = known[self._name]
        return found


def _entered(made: Any) -> Any:
    _made.add(made)
    return made


def _open_all() -> None:
    """Open every lock, in a child; as the standard library does with its own."""
    for made in list(_made):
        reopen(made)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
