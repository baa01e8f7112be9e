"""Who owns the memory of an array, and whether others than the engine may write there.

Programs share memory with NumPy and other libraries, whose writes raise no version and leave no stamp.
"""

from __future__ import annotations

import weakref
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
    owner = owner_of(array)
    if isinstance(owner, np.ndarray):
        key = id(owner)
        known = _shared.get(key)
        if known is None or known() is not owner:
            _shared[key] = weakref.ref(owner, lambda gone: _forget(key, gone))


def is_shared(array: Any) -> bool:
    """Whether something that is no tensor may write into an array's memory."""
    owner = owner_of(array)
    if not isinstance(owner, np.ndarray):
        return True
    known = _shared.get(id(owner)) if _shared else None
    return known is not None and known() is owner


def _forget(key: int, gone: Any) -> None:
    if _shared.get(key) is gone:
        del _shared[key]
