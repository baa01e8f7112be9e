"""Sums of squares of memory by address, from the BLAS function that ``np.vdot`` uses, equal to the bit.

Between two kernels of PyTorch nothing of NumPy is in the processor's caches: making an array, multiplying it and
converting the result take three times as long there as BLAS called by address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...array_values import Array

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
