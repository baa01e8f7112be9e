"""Computing large arrays piece by piece, so that what lies between two NumPy calls stays in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PIECE = 32_768
"""Elements of a piece: 128 kB of float32, where a step of gradient descent takes 0.7 of the time of whole arrays."""


def computed_in_pieces(compute: Callable[..., None], x: Any, *others: Any) -> Any:
    """A new array like ``x``, filled by ``compute(x, *others, out)``, an element-wise function of the arrays."""
    arrays = (x, *others)
    if x.size <= 2 * PIECE or not _side_by_side(arrays):
        out = np.empty(np.broadcast_shapes(*[a.shape for a in arrays]), x.dtype)
        compute(*arrays, out)
        return out
    out = np.empty(x.shape, x.dtype)
    rows = [a.reshape(-1) for a in (*arrays, out)]
    for start in range(0, x.size, PIECE):
        compute(*[row[start : start + PIECE] for row in rows])
    return out


def scaled_into(write: Callable[..., Any], target: Any, other: Any, alpha: Any) -> None:
    """``write(target, alpha * other, out=target)`` for ``write`` an element-wise function such as ``np.subtract``.

    ``alpha`` may stand in an array of the target's dtype already: NumPy makes one of a number at each call, 1 µs.
    """
    kind = alpha.__class__
    if kind is not np.ndarray and alpha == 1:
        write(target, other, target)
    elif target.size <= PIECE or kind not in (int, float, np.ndarray) or not _alike(target, other):
        write(target, other * alpha, target)
    else:
        step = max(1, PIECE * len(target) // target.size)  # rows of a piece
        scaled = np.empty((step, *target.shape[1:]), target.dtype)
        factor = np.asarray(alpha, target.dtype)
        for start in range(0, len(target), step):
            piece = target[start : start + step]
            write(piece, np.multiply(other[start : start + step], factor, scaled[: len(piece)]), piece)


def _alike(a: Any, b: Any) -> bool:
    return b.__class__ is np.ndarray and b.shape == a.shape and b.dtype == a.dtype


def _side_by_side(arrays: tuple[Any, ...]) -> bool:
    """Whether arrays are rows in memory, of one shape and dtype."""
    first = arrays[0]
    for a in arrays:  # noqa: SIM110 - ``all`` would call a generator for each
        if not a.flags.c_contiguous or a.shape != first.shape or a.dtype != first.dtype:
            return False
    return True
