"""Finds who owns the memory of an array, and whether others than the engine may write to it.

Programs share memory with NumPy and other libraries, whose writes neither raise a version counter nor leave a stamp.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np

_shared: dict[int, weakref.ref[Any]] = {}
"""Arrays that own memory which programs hold as arrays, too, by their ids."""


def owner_of(array: Any) -> Any:
    """The array (or other object) that owns the memory of an array."""
    base = array.base
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return array


def share(array: Any) -> None:
    """Remember that a program holds this memory outside of any tensor."""
    owner = array if array.base is None else owner_of(array)
    key = id(owner)
    known = _shared.get(key)
    if (known is None or known() is not owner) and isinstance(owner, np.ndarray):
        # what is called when the owner is gone is no function of Python's (0.4 µs less for each array); nothing
        # can stand under the key by then but this reference, as the memory is given back afterwards
        _shared[key] = weakref.ref(owner, partial(_shared.pop, key))


def is_shared(array: Any) -> bool:
    """Whether something that is not a tensor may write into an array's memory."""
    owner = owner_of(array)
    if not isinstance(owner, np.ndarray):
        return True
    known = _shared.get(id(owner)) if _shared else None
    return known is not None and known() is owner
