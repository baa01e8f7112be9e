"""Computations on the indices of entries: arrays with a column for each entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def numbers_of(indices: Any, size: Sequence[int]) -> Any:
    """A number for each place, in the order of places; they are 0 where nothing is counted."""
    width = len(indices)
    if not width or not indices.shape[1]:
        return np.zeros(indices.shape[1], np.int64)
    return np.ravel_multi_index(tuple(indices), tuple(size[:width]))


def places_of(numbers: Any, width: int, size: Sequence[int]) -> Any:
    """The places that have these numbers, as ``numbers_of`` gives them to the first ``width`` dimensions."""
    if not width or not numbers.size:
        return np.zeros((width, numbers.size), np.int64)
    return np.stack(np.unravel_index(numbers, tuple(size[:width]))).astype(np.int64)


def matches(have: Any, wanted: Any, size: Sequence[int]) -> tuple[Any, Any]:
    """For each wanted index the entry of ``have`` (sorted, unique) at that index, and whether there is one."""
    known, asked = numbers_of(have, size), numbers_of(wanted, size)
    if not known.size:
        return np.zeros(asked.size, np.int64), np.zeros(asked.size, bool)
    found = np.minimum(np.searchsorted(known, asked), known.size - 1)
    return found, known[found] == asked


def merged(first: Any, second: Any) -> tuple[Any, Any, int]:
    """Where the entries of two tensors come to lie in their sum, and how many it has, by the numbers of their places.

    As in PyTorch both are read from their beginnings, the smaller head first, and equal heads become one entry: also
    where they are in no order, so that the sum may name a place twice.
    """
    if _rising(first) and _rising(second):
        union, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        return where[: first.size], where[first.size :], union.size
    to_first, to_second, i, k, out = np.empty(first.size, np.int64), np.empty(second.size, np.int64), 0, 0, 0
    a, b = first.tolist(), second.tolist()
    while i < len(a) or k < len(b):
        take_first = k >= len(b) or (i < len(a) and a[i] <= b[k])
        take_second = i >= len(a) or (k < len(b) and b[k] <= a[i])
        if take_first:
            to_first[i] = out
            i += 1
        if take_second:
            to_second[k] = out
            k += 1
        out += 1
    return to_first, to_second, out


def _rising(numbers: Any) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())
