"""PyTorch's type promotion on NumPy dtypes: the dtype in which several operands are computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from .dtypes import bool_, complex64, complex128, default_complex, get_default_dtype, int64, scalar_name
from .narrow import LOADED, is_eight_bits, kind_of

_KIND_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_BARE_UNSIGNED: Final = frozenset(np.dtype(code) for code in ("u2", "u4", "u8"))
"""Unsigned integers that may be cast, but have no place among the others."""


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """PyTorch's promotion of two dtypes: the higher kind wins without widening."""
    if a is b or a == b:
        return a
    if is_eight_bits(a) or is_eight_bits(b):
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {scalar_name(a)} and {scalar_name(b)}"
        )
    rank_a, rank_b = _KIND_RANK[kind_of(a)], _KIND_RANK[kind_of(b)]
    if (a in _BARE_UNSIGNED or b in _BARE_UNSIGNED) and 2 not in (rank_a, rank_b):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{scalar_name(a)} and {scalar_name(b)}. Convert one of them with .to(dtype)"
        )
    if rank_a == rank_b:
        return _wider(a, b) if a in LOADED or b in LOADED else np.promote_types(a, b)
    low, high = (a, b) if rank_a < rank_b else (b, a)
    if kind_of(low) == "f":  # float with complex: complex128 for double only
        return complex128.dtype if low.itemsize == 8 else high
    return high


def _wider(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that takes in two floating ones, of which NumPy does not know one."""
    return np.dtype(np.float32) if a.itemsize == b.itemsize else max(a, b, key=lambda numpy: numpy.itemsize)


def is_castable(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """Whether a result of one dtype may be written in another: never in a lower kind."""
    return _KIND_RANK[kind_of(have)] <= _KIND_RANK[kind_of(want)]


def scalar_dtype(value: Any) -> np.dtype[Any]:
    """The dtype a Python number brings into a promotion."""
    if isinstance(value, bool):
        return bool_.dtype
    if isinstance(value, int):
        return int64.dtype
    if isinstance(value, complex):
        return default_complex().dtype
    return get_default_dtype().dtype


_COMPLEX_OF: Final = {2: complex64.dtype, 4: complex64.dtype, 8: complex128.dtype}


def result_dtype(
    dimensioned: Iterable[np.dtype[Any]], zero_dim: Iterable[np.dtype[Any]], numbers: Iterable[Any]
) -> np.dtype[Any]:
    """PyTorch's common dtype: tensors with dimensions count first, then 0-d tensors, then Python numbers.

    A lower group only changes the result when its kind (bool < integer < float < complex) is higher.
    """
    result: np.dtype[Any] | None = None
    groups = (dimensioned, zero_dim, (scalar_dtype(n) for n in numbers))
    for group in groups:
        found: np.dtype[Any] | None = None
        for d in group:
            found = d if found is None else promote_types(found, d)
        if found is None:
            continue
        if result is None:
            result = found
        elif _KIND_RANK[kind_of(found)] > _KIND_RANK[kind_of(result)]:
            # a float keeps its precision when it becomes complex
            result = _COMPLEX_OF[result.itemsize] if kind_of(result) == "f" else promote_types(result, found)
    return result if result is not None else get_default_dtype().dtype
