"""Returns the array from which statistics of a tensor are computed."""

from __future__ import annotations

from typing import Any

from ...sparse_entries import summed


def array_of(t: Any) -> Any:
    """A tensor's entries: of a sparse one those that it has."""
    return summed(t._indices()._array, t._values()._array) if t.is_sparse else t._array
