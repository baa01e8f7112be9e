"""Sums of squares of memory by address, from the BLAS function that ``np.vdot`` uses, equal to the bit.

Between two kernels of PyTorch nothing of NumPy is in the processor's caches: an array of that memory, its product and
the number that comes out of it take three times as long there as BLAS called by address does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array_values import Array

Product = Callable[[int, int, int, int, int], float]
"""Length; then for each of two vectors its address and how many entries on the next one lies."""

QUICK = 8192
"""Most entries that BLAS multiplies on one thread, whatever it is built with."""
_REAL = {"float32": ("sdot", ctypes.c_float), "float64": ("ddot", ctypes.c_double)}
_SPELLINGS = (
    ("scipy_cblas_{}64_", ctypes.c_int64),
    ("cblas_{}64_", ctypes.c_int64),
    ("cblas_{}$NEWLAPACK$ILP64", ctypes.c_int64),
    ("scipy_cblas_{}", ctypes.c_int),
    ("cblas_{}", ctypes.c_int),
)
"""What the function is called in the libraries that NumPy is built with, and the type of its lengths."""


def sum_of_squares(product: Product, address: int, length: int, size: int) -> float:
    """Add up the squares of numbers of this size that lie side by side, however many."""
    total = 0.0
    for begin in range(0, length, QUICK):
        total += product(min(QUICK, length - begin), address, 1, address, 1)
        address += QUICK * size
    return total


def _product(dtype: str) -> Product:
    """Return the product of two vectors of a dtype, BLAS's if it can be had."""
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
