"""The entries of a sparse gradient from which statistics are computed, with repeated indices summed."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def summed(indices: Array, values: Array) -> Array:
    """Return the entries at the columns of ``indices``, with repeated ones summed."""
    if not len(values):
        return values
    if not len(indices):
        return np.asarray(values.sum(axis=0, keepdims=True))
    _, where = np.unique(indices, axis=1, return_inverse=True)
    where = where.reshape(-1)
    entries = np.zeros((int(where.max()) + 1, *values.shape[1:]), values.dtype)
    with np.errstate(all="ignore"):
        np.add.at(entries, where, values)
    return entries
