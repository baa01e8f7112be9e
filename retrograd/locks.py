"""Locks that a forked child finds open.

A child has the forking thread alone: a lock that another thread held at that moment would never be opened there, and
a program that forks while its threads compute would hang because it is watched.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from .interpreter import reopen

_made: weakref.WeakSet[Any] = weakref.WeakSet()


def lock() -> Any:
    """Return a lock."""
    return _entered(threading.Lock())


def reentrant_lock() -> Any:
    """Return a lock that its thread may take again: a handler of signals, say, or a finalizer."""
    return _entered(threading.RLock())


def _entered(made: Any) -> Any:
    _made.add(made)
    return made


def _open_all() -> None:
    """Open every lock, in a child; as the standard library does with its own."""
    for made in list(_made):
        reopen(made)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
