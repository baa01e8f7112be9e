"""``memory_block``: the address of the block of memory that a tensor and its views share."""

from __future__ import annotations

from typing import Any

import numpy as np


def memory_block(tensor: Any) -> int:
    """Return the address of a tensor's block of memory, which is the same for all its views."""
    array = tensor._array
    while array.base is not None:
        owner = array.base
        if not isinstance(owner, np.ndarray):  # as_strided puts an object in between
            owner = getattr(owner, "base", None)
        if not isinstance(owner, np.ndarray):
            break
        array = owner
    return int(array.__array_interface__["data"][0])
