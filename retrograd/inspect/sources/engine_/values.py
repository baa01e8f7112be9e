"""What recordings say of the values of an array, each figure from as few passes over it as will do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...event_data import Values

Array = np.ndarray[Any, Any]
_ROWS = 10


def value_range(array: Array) -> list[float] | None:
    """Minimum and maximum of a real floating array, NaN if there is one; None for other arrays and empty ones."""
    if array.dtype.kind != "f" or not array.size:
        return None
    return [float(np.minimum.reduce(array, axis=None)), float(np.maximum.reduce(array, axis=None))]


def checksum(array: Array) -> float | None:
    """Sum of the entries of a real floating array, in double precision for small dtypes."""
    if array.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        return float(np.add.reduce(array, axis=None, dtype=np.float64 if array.dtype.itemsize < 4 else None))


def is_finite(limits: list[float] | None) -> bool:
    """Whether a range says that all entries are finite."""
    return limits is None or (math.isfinite(limits[0]) and math.isfinite(limits[1]))


def summary(array: Array) -> Values:
    """Summarize a floating array."""
    found: Values = {"size": int(array.size)}
    if array.dtype.kind not in "fc" or not array.size:
        return found
    nan, inf = np.isnan(array), np.isinf(array)
    found["nan"], found["inf"] = int(np.count_nonzero(nan)), int(np.count_nonzero(inf))
    found["zero"] = int(array.size - np.count_nonzero(array))
    bad = nan | inf
    finite = array[~bad] if found["nan"] or found["inf"] else array
    if finite.size and array.dtype.kind == "f":
        found["min"], found["max"] = float(finite.min()), float(finite.max())
    if found["nan"] or found["inf"]:
        worst = nan if found["nan"] else inf
        found["first_bad"] = [int(i) for i in np.unravel_index(int(np.argmax(worst)), array.shape)]
        if array.ndim:
            rows = bad.reshape(array.shape[0], -1).any(1)
            found["bad_rows"] = [int(i) for i in np.flatnonzero(rows)[:_ROWS]]
    return found


# -- slopes


def _ones(out: Array, limits: list[float]) -> Array | None:
    return None if -1 < limits[0] and limits[1] < 1 else np.abs(out) == 1


def _ends(out: Array, limits: list[float]) -> Array | None:
    return None if limits[0] > 0 and limits[1] < 1 else (out == 0) | (out == 1)


def _zeros(out: Array, limits: list[float]) -> Array | None:
    return None if limits[0] > 0 else out == 0


_FLAT: dict[str, Callable[[Array, list[float]], Array | None]] = {
    "tanh": _ones,
    "sigmoid": _ends,
    "_softmax": _ends,
    "hardsigmoid": _ends,
    "relu": _zeros,
    "exp": _zeros,
}
"""Row -> which entries of its result lie where the slope is zero; None: none of them."""


def flat_share(name: str, out: Array, limits: list[float] | None) -> float | None:
    """Share of the entries where a row's slope is zero in this dtype, read off its result; None for other rows."""
    rule = _FLAT.get(name)
    if rule is None or limits is None or not out.size:
        return None
    flat = rule(out, limits)
    return 0.0 if flat is None else float(np.count_nonzero(flat)) / out.size


def repeated(places: Any, shape: tuple[int, ...]) -> int:
    """How many entries of an indexed write hit a place that another entry of it hits, too."""
    arrays = [(i, np.asarray(getattr(p, "_array", p))) for i, p in enumerate(places) if p is not None]
    arrays = [(i, a) for i, a in arrays if a.dtype.kind in "iu"]
    if not arrays:
        return 0
    together = np.broadcast_arrays(*[a % max(1, shape[i]) for i, a in arrays])
    flat = np.zeros(together[0].size, np.int64)
    for (i, _), a in zip(arrays, together, strict=True):
        flat = flat * max(1, shape[i]) + a.ravel()
    return int(flat.size - np.unique(flat).size)


# -- gradients


def gradient_figures(array: Array) -> tuple[float, ...] | None:
    """Norm, minimum, maximum, mean, share of zeros, number of NaN and of infinities; None for an empty array.

    Of complex numbers the magnitudes count, and there is no minimum below zero.
    """
    size = array.size
    if not size or array.dtype.kind not in "fc":
        return None
    if array.dtype.kind == "c":
        array = np.abs(array)
    elif array.dtype.itemsize < 4:
        array = array.astype(np.float32)
    flat = array.ravel(order="K")
    with np.errstate(all="ignore"):
        low, high = float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))
        mean = float(np.add.reduce(flat)) / size
        if not (math.isfinite(low) and math.isfinite(high)):
            return _bad_figures(flat)
        squares = float(np.dot(flat, flat))
        if not math.isfinite(squares) or squares < 1e-30:  # outside of what squares can be added up in
            wide = flat.astype(np.float64)
            squares = float(np.dot(wide, wide))
    zeros = 0 if low > 0 or high < 0 else size if low == high == 0 else int(np.count_nonzero(flat == 0))
    return math.sqrt(squares), low, high, mean, zeros / size, 0, 0


def _bad_figures(flat: Array) -> tuple[float, ...]:
    """The same for an array with entries that are not finite: extremes and mean are those of the others."""
    nan, inf = int(np.count_nonzero(np.isnan(flat))), int(np.count_nonzero(np.isinf(flat)))
    finite = flat[np.isfinite(flat)].astype(np.float64)
    low, high, mean = (float(finite.min()), float(finite.max()), float(finite.mean())) if finite.size else (0, 0, 0)
    norm = math.nan if nan else math.inf
    return norm, low, high, mean, float(np.count_nonzero(flat == 0)) / flat.size, nan, inf


def tiny_share(array: Array, largest: float) -> float:
    """Share of the non-zero entries below the smallest normal number of the dtype.

    Not looked for where the largest entry is far above: in float32 an entry below 1e-38 beside one above 1e-20
    adds nothing that counts.
    """
    tiny = float(np.finfo(array.dtype).tiny)
    if not array.size or (array.dtype.itemsize >= 4 and largest > tiny * 1e18):
        return 0.0
    magnitude = np.abs(array)
    nonzero = int(np.count_nonzero(magnitude))
    return float(np.count_nonzero((magnitude < tiny) & (magnitude > 0))) / nonzero if nonzero else 0.0
