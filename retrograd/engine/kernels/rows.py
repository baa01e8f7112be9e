"""Sums and maxima of rows, which NumPy takes one short row after the other.

Sums are products with ones, for which BLAS takes half to a tenth of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .halves import reduced

_MOST = 100_000
"""The longest rows and columns that are kept."""
ones_known: dict[tuple[int, str], Any] = {}
"""Rows of ones by length and dtype."""
_columns_of_ones: dict[tuple[int, str], Any] = {}
_averages: dict[tuple[int, str], Any] = {}


def _keep(known: dict[tuple[int, str], Any], length: int, made: Any) -> Any:
    """Keep what was made for a length, unless that is large; of many lengths the earlier ones are forgotten."""
    if length <= _MOST:
        if len(known) > 64:
            known.clear()
        known[length, made.dtype.char] = made
    return made


def _make_ones(count: int, dtype: Any) -> Any:
    return _keep(ones_known, count, np.ones(count, dtype))


def averaging(width: int, dtype: Any) -> Any:
    """A column that makes means of rows in a product: ``1 / width`` everywhere."""
    known = _averages.get((width, dtype.char))
    return _keep(_averages, width, np.full((width, 1), 1.0 / max(width, 1), dtype)) if known is None else known


def column_sum(rows: Any, keepdim: bool = False) -> Any:
    """The sum of the rows of a matrix of float32 or float64 (64 x 256: 3 for 5 µs, 10,000 x 10: 33 for 298)."""
    ones = ones_known.get((rows.shape[0], rows.dtype.char))
    if ones is None:
        ones = _make_ones(rows.shape[0], rows.dtype)
    return ones[None] @ rows if keepdim else ones.dot(rows)


LARGE = 16_384
"""Above so many elements ``total`` is worth its questions."""


def total(x: Any) -> Any:
    """The sum of everything, as product with ones: of a short row, or of many rows of float32.

    The sums of rows are then added pairwise, as NumPy adds (784 x 256: 23 for 53 µs).
    """
    width, char = x.shape[-1] if x.ndim else 0, x.dtype.char
    short = x.ndim == 1 and char in "fd"
    many = char == "f" and x.size > LARGE and width > 15
    if not (short or many) or not 0 < width <= 1024 or not x.flags.c_contiguous:
        return np.add.reduce(x, axis=None)
    ones = ones_known.get((width, char))
    if ones is None:
        ones = _make_ones(width, x.dtype)
    return x.dot(ones) if short else np.add.reduce(x.reshape(-1, width).dot(ones))


def sums_along(x: Any, axis: int) -> Any:
    """Sums along an axis, which stays; those of rows of up to 1024 numbers as a product with ones."""
    width = x.shape[axis]
    if axis not in (-1, x.ndim - 1) or x.dtype.char not in "fd" or width > 1024:
        return reduced(np.add, x, axis, keepdims=True)
    ones = _columns_of_ones.get((width, x.dtype.char))
    if ones is None:
        ones = _keep(_columns_of_ones, width, np.ones((width, 1), x.dtype))
    # ``dot`` has less to find out, and with a column leaves what is asked for: 16 for 22 µs after large arrays
    return x.dot(ones) if x.ndim == 2 else (x @ ones[:, 0])[..., None]


def maxima_along(x: Any, axis: int) -> Any:
    """Maxima along an axis, which stays; short rows are laid out by columns first (1024 x 10: 13 for 83 µs)."""
    if x.ndim == 2 and axis in (1, -1) and x.shape[1] <= 32:
        x = np.asfortranarray(x)
    return np.maximum.reduce(x, axis=axis, keepdims=True)
