"""Finds the index tensors, masks and conditions of a call: tensors that select entries and get no gradient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .....engine.tensors.base import TensorBase
from ....tensor_table import TensorTable

_LATEST = 500
"""Tensors looked through for the one that an index array belongs to; an index is mostly young."""


def index_tensors(args: Iterable[Any], table: TensorTable) -> Iterator[int]:
    """Yield the numbers of tensors among the arguments of an operator, and of those whose arrays are among them."""
    for part in args:
        if isinstance(part, TensorBase):
            number = table.known(part)
        elif isinstance(part, tuple):
            yield from index_tensors(part, table)
            continue
        else:
            number = _owner(part, table) if isinstance(part, np.ndarray) and part.ndim else None
        if number is not None:
            yield number


def _owner(array: Any, table: TensorTable) -> int | None:
    """Return the youngest tensor that lies in the memory of an array."""
    while array.base.__class__ is np.ndarray:
        array = array.base
    storage = table.memory(array)
    if storage is None:
        return None
    rows = range(len(table) - 1, max(len(table) - _LATEST, 0) - 1, -1)
    return next((row for row in rows if table[row].storage == storage), None)
