"""Sums, each about as exact as a pairwise sum.

NumPy adds pairwise only what lies side by side, and BLAS nothing; but BLAS takes half to a tenth of the time. So what
is summed is cut into pieces, whose sums are products with ones, and those sums are summed in the same way. A matrix of
many rows is read as one of few, long rows for that: 1,000,000 x 2 as 64 x 31,250, a width at which BLAS is at its best.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .halves import dtype_of_sums

_BY_BLAS = 64
"""So many rows BLAS adds up in one go: it takes four at a time, so that a sum is rounded 16 times."""
_BY_NUMPY = 16
"""So many NumPy adds up in one go, where they do not lie side by side."""
_PIECE = 128
"""So many elements of a row BLAS adds up in one go, in eight sums, if it has several rows to read."""
_FEWEST = 8
"""So many rows at least."""
_WIDEST = 1024
"""Rows beyond this are as fast by NumPy."""
_BUFFER = 8192
"""So many elements NumPy casts before it adds them up pairwise; what it has of each buffer it adds one by one."""
_LARGE = 16_384
"""Up to so many elements that lie side by side are NumPy's, which adds them up pairwise without questions."""
ONES: dict[str, Any] = {char: np.ones(_WIDEST, char) for char in "fd"}
"""Rows of ones in the dtypes of BLAS; shorter ones are its beginnings."""
_COLUMNS = {char: row[:, None] for char, row in ONES.items()}


def summed(x: Any, axes: tuple[int, ...] | None = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum along axes (``None``: all) in the array's dtype or another one; of halves it is rounded once."""
    kind = x.dtype if dtype is None else dtype
    few = x.size <= _BY_NUMPY or kind.kind not in "fc"
    if few or (x.size <= _LARGE and (axes is None or axes == (x.ndim - 1,)) and x.flags.c_contiguous):
        wide = dtype_of_sums(kind)
        add: Any = np.add
        out = add.reduce(x, axis=axes, dtype=wide, keepdims=keepdims)
        return out if wide is kind else out.astype(kind)
    return _summed(x, tuple(range(x.ndim)) if axes is None else axes, keepdims, kind)


def _summed(x: Any, axes: tuple[int, ...], keepdims: bool, kind: Any) -> Any:
    """The sum along one axis after the other, neighbours in memory as one, innermost first."""
    order, joined, chosen = _joined(x, axes)
    wide = dtype_of_sums(kind)
    for i in reversed(range(len(chosen))):
        if chosen[i]:
            joined = _sums(joined, i, wide)
    kept = [a for a in order if a not in axes]
    out = np.asarray(joined).reshape([x.shape[a] for a in kept])
    if kept != sorted(kept):
        out = out.transpose(np.argsort(kept))
    if keepdims:
        out = out.reshape([1 if a in axes else n for a, n in enumerate(x.shape)])
    return out.astype(kind, copy=False)


def _joined(x: Any, axes: tuple[int, ...]) -> tuple[list[int], Any, list[bool]]:
    """The axes in the order of memory, and a view in that order in which neighbours are one axis if they can be.

    Neighbours are either both summed or both kept; the last result says of each joined axis whether it is summed.
    """
    order = list(range(x.ndim))
    if not x.flags.c_contiguous:
        order.sort(key=lambda a: -abs(x.strides[a]))
    sizes: list[int] = []
    chosen: list[bool] = []
    step = 0
    for a in order:
        n = x.shape[a]
        if n == 1:
            continue
        if sizes and chosen[-1] == (a in axes) and step == n * x.strides[a]:
            sizes[-1] *= n
        else:
            sizes.append(n)
            chosen.append(a in axes)
        step = x.strides[a]
    return order, x.transpose(order).reshape(sizes), chosen


def _sums(x: Any, axis: int, wide: Any) -> Any:
    """The sums along one axis, which goes; all behind it are kept."""
    last = axis == x.ndim - 1
    if not x.strides[axis]:  # one element, repeated
        return x.take(0, axis).astype(wide, copy=False) * wide.type(x.shape[axis])
    if x.dtype != wide:
        usual = last and x.shape[axis] <= _BUFFER * _BY_NUMPY
        return np.add.reduce(x, axis=axis, dtype=wide) if usual else _by_pieces(x, axis, wide)
    if last:
        return _row_sums(x) if x.strides[-1] == x.itemsize and x.dtype.char in "fd" else np.add.reduce(x, axis=-1)
    behind = math.prod(x.shape[axis + 1 :])
    side_by_side = x[(0,) * axis].flags.c_contiguous
    if not side_by_side or x.dtype.char not in "fdFD":
        return _by_pieces(x, axis, wide)
    rows = x.reshape(*x.shape[: axis + 1], behind)
    if x.dtype.kind == "c":
        sums = _sums_of_columns(rows.view(x.real.dtype)).view(x.dtype)
    else:
        sums = _sums_of_columns(rows)
    return sums.reshape(*x.shape[:axis], *x.shape[axis + 1 :])


def _by_pieces(x: Any, axis: int, wide: Any) -> Any:
    """The sum along one axis, of at most ``_BY_NUMPY`` elements at a time: of those that lie far apart."""
    lead = (slice(None),) * axis
    while (n := x.shape[axis]) > _BY_NUMPY:
        count = -(-n // _BY_NUMPY)
        whole = n // count * count
        pieces = x[*lead, :whole].reshape(*x.shape[:axis], -1, count, *x.shape[axis + 1 :])
        part = np.add.reduce(pieces, axis=axis, dtype=wide)
        if whole < n:
            start = part[*lead, : n - whole]
            np.add(start, x[*lead, whole:], out=start)
        x = part
    return np.add.reduce(x, axis=axis, dtype=wide)


def _sums_of_columns(rows: Any) -> Any:
    """The sums of the columns of one matrix, or of each of many: ``(..., n, k)``, side by side."""
    ones = ONES[rows.dtype.char]
    while (n := rows.shape[-2]) > _BY_BLAS:
        *lead, _, k = rows.shape
        count = -(-n // _BY_BLAS)
        whole = n // count * count
        part = ones[: n // count] @ rows[..., :whole, :].reshape(*lead, n // count, count * k)
        if whole < n:
            part[..., : (n - whole) * k] += rows[..., whole:, :].reshape(*lead, -1)
        rows = part.reshape(*lead, count, k)
    return ones[:n].dot(rows) if rows.ndim == 2 else ones[:n] @ rows


def _row_sums(x: Any) -> Any:
    """The sums of rows: along the last axis, whose elements lie side by side."""
    n = x.shape[-1]
    if x.ndim == 1:
        return _total(x)
    pieces = _pieces(n) if n <= _WIDEST and x.size >= _FEWEST * n else 0
    if not pieces:
        return np.add.reduce(x, axis=-1)
    ones = ONES[x.dtype.char]
    if pieces == 1:
        return x @ ones[:n]
    sums = x.reshape(-1, n // pieces).dot(ones[: n // pieces]).reshape(-1, pieces)
    return sums.dot(ones[:pieces]).reshape(x.shape[:-1])


@functools.lru_cache(maxsize=4096)
def _pieces(n: int) -> int:
    """Into how many equal pieces rows are cut for BLAS; 0 where they cannot be."""
    fewest = -(-n // _PIECE)
    return next((pieces for pieces in range(fewest, n // _BY_NUMPY + 2) if n % pieces == 0), 0)


def _total(x: Any) -> Any:
    """The sum of a long row (784 * 256: 23 for 53 µs)."""
    ones = ONES[x.dtype.char][:_PIECE]
    while x.size > _LARGE:
        whole = x.size // _PIECE * _PIECE
        part = x[:whole].reshape(-1, _PIECE).dot(ones)
        part[: x.size - whole] += x[whole:]
        x = part
    return np.add.reduce(x)


def inner_product(a: Any, b: Any) -> Any:
    """The sum of the products of two vectors' elements."""
    return a.dot(b) if len(a) <= _WIDEST or a.dtype.kind not in "fc" else sums_of_products(a, b)


# -- for callers that know what they have


def total(x: Any) -> Any:
    """The sum of everything; of a short row as one product."""
    if x.ndim == 1 and 0 < x.size <= _WIDEST and x.dtype.char in "fd" and x.flags.c_contiguous:
        return x.dot(ONES[x.dtype.char][: x.size])
    return summed(x)


def ones_of(rows: Any) -> Any:
    """The row of ones whose product with a matrix is the sum of its rows; ``None`` where that would be less exact."""
    ones = ONES.get(rows.dtype.char)
    return ones[: len(rows)] if ones is not None and len(rows) <= _BY_BLAS else None


def column_sum(rows: Any, keepdim: bool = False) -> Any:
    """The sum of the rows of a matrix of float32 or float64 (64 x 256: 2 for 4 µs, 10,000 x 10: 8 for 180)."""
    ones = ones_of(rows)
    if ones is None:
        if not rows.flags.c_contiguous or rows.dtype.char not in "fd":
            return summed(rows, (0,), keepdim)
        total = _sums_of_columns(rows)
        return total[None] if keepdim else total
    return ones[None] @ rows if keepdim else ones.dot(rows)


def sums_along(x: Any, axis: int) -> Any:
    """Sums along an axis, which stays."""
    width = x.shape[axis]
    last = axis in (-1, x.ndim - 1)
    if not last or x.dtype.char not in "fd" or width > _PIECE or x.size < _FEWEST * width:
        return summed(x, (axis % x.ndim,), True)
    # ``dot`` has less to find out, and with a column leaves what is asked for: 16 for 22 µs after large arrays
    column = _COLUMNS[x.dtype.char][:width]
    return x.dot(column) if x.ndim == 2 else x @ column


def sums_of_products(a: Any, b: Any) -> Any:
    """The sums of ``a * b`` along the last axis; by BLAS without the products, in a quarter of the time."""
    n = a.shape[-1]
    if a.dtype.char not in "fd":
        return summed(a * b, (a.ndim - 1,))
    if n <= _WIDEST:
        return np.vecdot(a, b)
    whole = n // _WIDEST * _WIDEST
    pieces = (*a.shape[:-1], -1, _WIDEST)
    sums = _row_sums(np.vecdot(a[..., :whole].reshape(pieces), b[..., :whole].reshape(pieces)))
    return sums if whole == n else sums + np.vecdot(a[..., whole:], b[..., whole:])
