"""Statistics of arrays, each with as few passes over the array as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..operators import END, Operator, Trait
from ..recording.event_data import Values

Array = np.ndarray[Any, Any]
_ROWS = 10
_PIECE = 131_072
"""Entries of a piece that stays in a processor's cache while it is read several times."""
_ROW = 4_096
AT_ONCE = 16_384
"""Longest array that is summed by one product; longer ones are summed row by row."""


class _Ones(dict[int, Array]):
    """Vectors of ones by length, all views of one memory: looking one up is faster than slicing."""

    def __init__(self, dtype: type) -> None:
        super().__init__()
        self._longest: Array = np.ones(AT_ONCE, dtype)

    def __missing__(self, size: int) -> Array:
        found = self[size] = self._longest[:size]
        return found


ONES = {"f": _Ones(np.float32), "d": _Ones(np.float64)}
_ZEROS = {char: np.zeros((), char) for char in "fdg"}
SAFE = 1e18
"""Sums and sums of squares of entries up to this size do not overflow in single precision."""
_ORDINARY = 1e16
"""Squares of entries up to this size can be summed over a piece in single precision."""
_MIN, _MAX, _SUM = np.minimum.reduce, np.maximum.reduce, np.add.reduce
_product: Callable[[Array, Array], Any] = getattr(np.vdot, "_implementation", np.vdot)
"""``np.vdot`` without the look-up of ``__array_function__``, which takes as long as the product, if
NumPy exposes it."""
_count: Callable[[Array], Any] = getattr(np.count_nonzero, "_implementation", np.count_nonzero)
"""``np.count_nonzero`` of all entries, likewise."""
FEW = 32
"""Up to this number, entries are read faster as Python numbers than by NumPy."""


def has_data(array: Array) -> bool:
    """Whether an array may be read: arrays of wrapper tensors say that they may not."""
    return array.__class__ is np.ndarray or getattr(array, "has_data", True)


def numbers(array: Array) -> Array:
    """Return the entries in single precision if NumPy has no such dtype, as for bfloat16."""
    return array.astype(np.float32) if array.dtype.isbuiltin == 2 and has_data(array) else array


def once(array: Array) -> Array:
    """Return the entries of an array; of an expanded one without repetitions, of which there may be any number."""
    return array if 0 not in array.strides or not array.size else array[unrepeated(array.strides)]


def unrepeated(strides: Iterable[int]) -> tuple[slice, ...]:
    """Return the index that selects the entries of a tensor with these strides without repetitions."""
    return tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)


def range_and_sum(array: Array) -> tuple[tuple[float, float] | None, float | None]:
    """Return ``(min, max)`` (NaN if there is one) and the sum of a real floating array; None if not available.

    Complex numbers have none, except NaN or infinity if they are not finite.
    """
    size = array.size
    ones = ONES.get(array.dtype.char) if array.__class__ is np.ndarray else None
    if ones is not None and FEW < size <= AT_ONCE:  # as ``range_reader``
        row = array.ravel("K")
        low, high = row.item(row.argmin()), row.item(row.argmax())
        if -SAFE < low * size and high * size < SAFE:
            return (low, high), row.dot(ones[size]).item()
    if array.dtype.kind == "c":
        return bad_parts(array), None
    array = numbers(array)
    if array.dtype.kind != "f" or not has_data(array):
        return None, None
    if not size:
        return None, 0.0
    if size <= FEW and (few := few_range_and_sum(array.ravel().tolist())) is not None:
        return few
    if ones is not None and array.flags.forc:
        flat = array.ravel("K")
        low, high = flat.item(flat.argmin()), flat.item(flat.argmax())
        if -SAFE < low * size and high * size < SAFE:
            return (low, high), _total(flat)
    else:
        array = once(array)
        low, high = float(_MIN(array, None)), float(_MAX(array, None))
    with np.errstate(all="ignore"):
        return (low, high), float(_SUM(array, None, np.float64)) * (size // array.size)


def sum_of_ordinary(array: Array) -> float | None:
    """Return the sum, by one pass, if it shows that all entries are finite and some are nonzero.

    Else None, and ``range_and_sum`` is needed.
    """
    ones = ONES.get(array.dtype.char) if array.__class__ is np.ndarray else None
    size = array.size
    if ones is None or size <= FEW:
        return None
    if size <= AT_ONCE:
        total: float = _product(array.ravel("K"), ones[size]).item()  # of which NumPy never warns
    elif array.flags.forc:
        with np.errstate(all="ignore"):
            total = _total(array.ravel("K"))
    else:
        return None
    return total if total and isfinite(total) else None


def bad_parts(array: Array) -> tuple[float, float] | None:
    """Return NaN twice, or infinity, if some complex number is not finite; None if all are."""
    if not has_data(array) or np.isfinite(array).all():
        return None
    return (math.nan, math.nan) if np.isnan(array).any() else (math.inf, math.inf)


def few_range_and_sum(entries: Sequence[float]) -> tuple[tuple[float, float], float] | None:
    """Return the same for a few numbers; None if the sum is not finite."""
    total = sum(entries)
    return ((min(entries), max(entries)), total) if isfinite(total) else None


def value_range(array: Array) -> list[float] | None:
    """Return ``[min, max]`` as ``range_and_sum`` does; None for arrays that are empty or not floating."""
    if array.dtype.kind == "c":
        bad = bad_parts(array)
        return None if bad is None else list(bad)
    array = numbers(array)
    if array.dtype.kind != "f" or not array.size or not has_data(array):
        return None
    array = once(array)
    return [float(_MIN(array, None)), float(_MAX(array, None))]


def is_finite(limits: Sequence[float] | None) -> bool:
    """Whether a range shows that all entries are finite."""
    return limits is None or (math.isfinite(limits[0]) and math.isfinite(limits[1]))


def summary(array: Array) -> Values:
    """Summarize a floating array."""
    found: Values = {"size": int(array.size)}
    array = numbers(array)
    if array.dtype.kind not in "fc" or not array.size or not has_data(array):
        return found
    length = array.shape[0] if array.ndim else 1
    array, size = once(array), array.size
    times = size // array.size
    nan, inf = np.isnan(array), np.isinf(array)
    found["nan"], found["inf"] = int(np.count_nonzero(nan)) * times, int(np.count_nonzero(inf)) * times
    found["zero"] = size - int(np.count_nonzero(array)) * times
    bad = nan | inf
    finite = array[~bad] if found["nan"] or found["inf"] else array
    if finite.size and array.dtype.kind == "f":
        found["min"], found["max"] = float(finite.min()), float(finite.max())
    if found["nan"] or found["inf"]:
        worst = nan if found["nan"] else inf
        found["first_bad"] = [int(i) for i in np.unravel_index(int(np.argmax(worst)), array.shape)]
        if array.ndim:
            rows = bad.reshape(array.shape[0], -1).any(1)
            if len(array) < length:  # they are all the same one
                rows = np.repeat(rows, min(length, _ROWS))
            found["bad_rows"] = [int(i) for i in np.flatnonzero(rows)[:_ROWS]]
    return found


# -- slopes


def flat_share(does: Operator, out: Array, limits: Sequence[float] | None) -> float:
    """Return the share of a result's entries where the function's slope is zero in this dtype."""
    if does.flat is None or limits is None or not out.size:
        return 0.0
    low, high = does.flat
    count = 0
    if limits[0] <= low:
        count += int(_count(np.less_equal(out, _ZEROS.get(out.dtype.char, low) if low == 0 else low)))
    if high < END and limits[1] >= high:
        count += int(_count(np.greater_equal(out, high)))
    return count / out.size


def pole(does: Operator, args: Any) -> tuple[int, list[int]] | None:
    """Return the position of the argument with an entry where the slope is infinite or undefined, and that index."""
    place = does.operand
    array = getattr(args[place], "_array", None) if does.poles and place < len(args) else None
    if array is None:
        return None
    array = numbers(array)
    if array.dtype.kind != "f" or not array.size:
        return None
    if does.name == "pow" and not (isinstance(args[1], float) and args[1] < 1.0):
        return None
    index = pole_in(does, array)
    return None if index is None else (place, index)


def pole_in(does: Operator, array: Array) -> list[int] | None:
    """Return the first index where the slope is infinite or undefined; for a norm all entries must be zero."""
    if does.is_a(Trait.REDUCTION):
        return None if array.any() else [0] * array.ndim
    hit = np.isin(array, does.poles) if len(does.poles) > 1 else array == does.poles[0]
    if not hit.any():
        return None
    return [int(i) for i in np.unravel_index(int(np.argmax(hit)), array.shape)]


def repeated(places: Any, shape: tuple[int, ...]) -> int:
    """Return how many entries of an indexed write hit an element that another entry also hits."""
    arrays = [(i, np.asarray(getattr(p, "_array", p))) for i, p in enumerate(places) if p is not None]
    arrays = [(i, a) for i, a in arrays if a.dtype.kind in "iu"]
    if not arrays:
        return 0
    together = np.broadcast_arrays(*[a % max(1, shape[i]) for i, a in arrays])
    flat = np.zeros(together[0].size, np.int64)
    for (i, _), a in zip(arrays, together, strict=True):
        flat = flat * max(1, shape[i]) + a.ravel()
    return int(flat.size - np.unique(flat).size)


def scattered_twice(index: Any, dim: int) -> int:
    """Return how many source entries a ``scatter`` loses because an index repeats along its dimension."""
    places = np.asarray(getattr(index, "_array", index))
    if not places.ndim:
        return 0
    return int(np.count_nonzero(np.diff(np.sort(places, axis=dim), axis=dim) == 0))


# -- gradients


LEAST, MOST = 1e-30, 1e32
"""Between these bounds a sum of squares in single precision has neither underflowed notably nor overflowed."""


def ordinary_norm(array: Array) -> float | None:
    """Return the norm of an array of ordinary numbers, by one pass.

    None if ``gradient_figures`` is needed: for entries that are not finite, very large, or all zero or very small
    (for others ``tiny_share`` is 0), and for half precision and complex numbers.
    """
    if array.dtype.char not in "fd":
        return None
    flat = array.ravel("K")
    squares = _product(flat, flat).item() if flat.size <= _PIECE else sum_of_squares(flat)
    return math.sqrt(squares) if LEAST < squares < MOST else None


def sum_of_squares(flat: Array, most: int = _PIECE) -> float:
    """Return the sum of squares of a flat array, ``most`` entries at a time; by ``vdot``, which never warns."""
    if flat.size <= most:
        return float(np.vdot(flat, flat))
    pieces = [flat[begin : begin + most] for begin in range(0, flat.size, most)]
    return float(sum([_product(piece, piece).item() for piece in pieces]))


def gradient_figures(array: Array) -> tuple[float, ...] | None:
    """Return norm, minimum, maximum, mean, share of zeros, number of NaN and of infinities; None if empty.

    For complex numbers the magnitudes count, so no minimum is below zero.
    """
    size, array = array.size, numbers(array)
    if not size or array.dtype.kind not in "fc" or not has_data(array):
        return None
    if array.dtype.kind == "c":
        array = np.abs(array)
    elif array.dtype.itemsize < 4:
        array = array.astype(np.float32)
    flat = array.ravel(order="K")
    if size <= FEW:
        entries = flat.tolist()
        total = sum(entries)
        if math.isfinite(total):
            return math.hypot(*entries), min(entries), max(entries), total / size, entries.count(0.0) / size, 0, 0
    found = _figures_by_pieces(flat)
    return _figures_of_all(flat) if found is None else found


def _figures_by_pieces(flat: Array) -> tuple[float, ...] | None:
    """Return the statistics of an array of ordinary numbers, each piece read while it is in the cache; else None."""
    size = flat.size
    if size <= _PIECE:
        found = _figures_of_piece(flat)
    else:
        pieces = [_figures_of_piece(flat[begin : begin + _PIECE]) for begin in range(0, size, _PIECE)]
        whole = [piece for piece in pieces if piece is not None]
        if len(whole) < len(pieces):
            return None
        low, high, squares, total, zeros = zip(*whole, strict=True)
        found = (min(low), max(high), sum(squares), sum(total), sum(zeros))
    if found is None or found[2] < LEAST:
        return None
    return math.sqrt(found[2]), found[0], found[1], found[3] / size, found[4] / size, 0, 0


def _figures_of_piece(part: Array) -> tuple[float, float, float, float, int] | None:
    """Return minimum, maximum, sum of squares, sum and number of zeros; None for numbers that are not ordinary.

    ``argmin`` and the like cost a microsecond less to call than reductions.  In long pieces the place of a first zero
    is found sooner than zeros are counted, of which there are mostly none.
    """
    low, high = part.item(part.argmin()), part.item(part.argmax())
    if not (-_ORDINARY < low and high < _ORDINARY):  # also for NaN
        return None
    zeros = 0
    if low <= 0 <= high:
        if part.size <= _ROW:
            zeros = part.size - int(np.count_nonzero(part))
        else:
            none = np.equal(part, _ZEROS[part.dtype.char])
            if none.item(none.argmax()):
                zeros = int(np.count_nonzero(none))
    return low, high, part.dot(part).item(), _total(part), zeros


def _figures_of_all(flat: Array) -> tuple[float, ...]:
    """Return the statistics of an array with very large, very small or no finite numbers."""
    size = flat.size
    low, high = float(_MIN(flat)), float(_MAX(flat))
    if not (math.isfinite(low) and math.isfinite(high)):
        return _bad_figures(flat)
    wide = flat.astype(np.float64)
    squares, mean = float(np.dot(wide, wide)), float(np.mean(wide))
    zeros = size if low == high == 0 else int(np.count_nonzero(flat == 0))
    return math.sqrt(squares), low, high, mean, zeros / size, 0, 0


def _total(flat: Array) -> float:
    """Return the sum of a flat array; in single precision as a product with ones, in a third of the time."""
    size, char = flat.size, flat.dtype.char
    if size <= AT_ONCE and char in ONES:
        return float(flat.dot(ONES[char][size]))
    if char != "f":
        return float(_SUM(flat, None))
    whole, ones = size - size % _ROW, ONES[char]
    total = 0.0 if size == whole else float(flat[whole:].dot(ones[size - whole]))
    return total + float(sum((flat[:whole].reshape(-1, _ROW) @ ones[_ROW]).tolist()))


def _bad_figures(flat: Array) -> tuple[float, ...]:
    """Return the same for an array with non-finite entries: minimum, maximum and mean are those of the others."""
    nan, inf = int(np.count_nonzero(np.isnan(flat))), int(np.count_nonzero(np.isinf(flat)))
    finite = flat[np.isfinite(flat)].astype(np.float64)
    low, high, mean = (float(finite.min()), float(finite.max()), float(finite.mean())) if finite.size else (0, 0, 0)
    norm = math.nan if nan else math.inf
    return norm, low, high, mean, float(np.count_nonzero(flat == 0)) / flat.size, nan, inf


_TINY = {name: float(np.finfo(name).tiny) for name in ("float16", "float32", "float64")}
_FAR = {"f": 1e18 * _TINY["float32"], "d": 1e18 * _TINY["float64"]}
"""By ``dtype.char``: in an array with an entry above this, tiny entries are not counted."""


def has_no_tiny(array: Array, figures: tuple[float, ...]) -> bool:
    """Whether ``tiny_share`` need not read an array with these ``gradient_figures``."""
    far = _FAR.get(array.dtype.char, math.inf)
    return figures[1] < -far or figures[2] > far


def tiny_share(array: Array, largest: float, dtype: str = "") -> float:
    """Return the share of nonzero entries below the smallest normal number of the dtype (default: the array's).

    They are not counted if the largest entry is far larger: in float32 an entry below 1e-38 beside one above 1e-20
    adds nothing significant.
    """
    tiny = _TINY.get(dtype) or _TINY.get(array.dtype.name) or float(np.finfo(array.dtype).tiny)
    if not array.size or (dtype != "float16" and array.dtype.itemsize >= 4 and largest > tiny * 1e18):
        return 0.0
    magnitude = np.abs(array)
    nonzero = int(np.count_nonzero(magnitude))
    return float(np.count_nonzero((magnitude < tiny) & (magnitude > 0))) / nonzero if nonzero else 0.0
