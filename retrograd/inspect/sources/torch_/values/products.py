"""Sums of squares of memory by address, from the BLAS function that ``np.vdot`` uses, equal to the bit; and ranges.

Between two kernels of PyTorch nothing of NumPy is in the processor's caches: making an array, multiplying it and
converting the result take three times as long there as BLAS called by address.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from ...array_values import AT_ONCE, FEW, ONES, SAFE, Array

Product = Callable[[int, int, int, int, int], float]
"""Takes the length; then for each of two vectors its address and stride."""

QUICK = 8192
"""Largest number of entries that BLAS multiplies on one thread, in any build."""
_REAL = {"float32": ("sdot", ctypes.c_float), "float64": ("ddot", ctypes.c_double)}
_SPELLINGS = (
    ("scipy_cblas_{}64_", ctypes.c_int64),
    ("cblas_{}64_", ctypes.c_int64),
    ("cblas_{}$NEWLAPACK$ILP64", ctypes.c_int64),
    ("scipy_cblas_{}", ctypes.c_int),
    ("cblas_{}", ctypes.c_int),
)
"""Names of the function in the libraries that NumPy is built with, and the type of its lengths."""


def sum_of_squares(product: Product, address: int, length: int, size: int) -> float:
    """Return the sum of squares of any number of adjacent entries of this size."""
    total = 0.0
    for begin in range(0, length, QUICK):
        total += product(min(QUICK, length - begin), address, 1, address, 1)
        address += QUICK * size
    return total


def _product(dtype: str) -> Product:
    """Return the product of two vectors of a dtype, BLAS's if available."""
    name, real = _REAL[dtype]
    numpy: Any = np
    try:
        library = ctypes.PyDLL(numpy._core._multiarray_umath.__file__)  # finds what that is linked with, too
    except (AttributeError, OSError):
        return _by_arrays(dtype)
    for spelling, integer in _SPELLINGS:
        function = getattr(library, spelling.format(name), None)
        if function is not None:
            function.restype = real
            function.argtypes = (integer, ctypes.c_void_p, integer, ctypes.c_void_p, integer)
            return function  # type: ignore[no-any-return]
    return _by_arrays(dtype)


def _by_arrays(dtype: str) -> Product:
    """Return the product of a vector with itself by NumPy."""
    numbers = np.dtype(dtype)

    def product(length: int, address: int, *_: int) -> float:
        memory: Any = (ctypes.c_char * (length * numbers.itemsize)).from_address(address)
        vector: Array = np.ndarray(length, numbers, memory)
        return float(np.vdot(vector, vector))

    return product


PRODUCTS: dict[str, Product] = {dtype: _product(dtype) for dtype in _REAL}
"""By dtype."""


RangeReader = Callable[[int], tuple[float, float, float] | None]
"""Returns minimum, maximum and sum of the entries at an address; None if they are not ordinary."""


def range_reader(size: int, dtype: np.dtype[Any]) -> RangeReader | None:
    """Return what reads so many bytes of single or double precision at once; None for none, or for too many."""
    length = size // dtype.itemsize
    at: Callable[[int], Any] = (ctypes.c_char * size).from_address
    if not 0 < length <= AT_ONCE:
        return None
    if length <= FEW:
        unpack = struct.Struct(f"{length}{dtype.char}").unpack_from

        def read_few(address: int) -> tuple[float, float, float] | None:
            entries = unpack(at(address))
            total = sum(entries)
            return (min(entries), max(entries), total) if isfinite(total) else None

        return read_few
    ones, most, row_of = ONES[dtype.char][length], SAFE / length, np.ndarray

    def read(address: int) -> tuple[float, float, float] | None:
        row: Array = row_of(length, dtype, at(address))
        low, high = row.item(row.argmin()), row.item(row.argmax())
        return (low, high, row.dot(ones).item()) if -most < low and high < most else None

    return read
