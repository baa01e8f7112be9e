"""Sums of squares by address are those of NumPy's own product, to the bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrograd.inspect.sources.torch_.values import products
from retrograd.inspect.sources.torch_.values.products import PRODUCTS, QUICK, sum_of_squares


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 7, 1024, QUICK])
def test_product_is_that_of_numpy(dtype, length):
    """BLAS by address, and arrays where it cannot be had, give what ``np.vdot`` does."""
    vector = np.random.default_rng(length).standard_normal(length).astype(dtype)
    address, expected = vector.ctypes.data, float(np.vdot(vector, vector))

    assert PRODUCTS[dtype](length, address, 1, address, 1) == expected
    assert products._by_arrays(dtype)(length, address, 1, address, 1) == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_vectors_and_their_ends(dtype):
    """Each entry of a vector longer than one call takes is read once, and none behind it."""
    around = np.full(2 * QUICK + 9, math.nan, dtype)
    vector = around[3:-3]
    vector[:] = np.random.default_rng(0).standard_normal(len(vector))
    found = sum_of_squares(PRODUCTS[dtype], vector.ctypes.data, len(vector), vector.itemsize)

    assert found == pytest.approx(math.fsum(float(entry) ** 2 for entry in vector), rel=1e-5)
    assert math.isinf(PRODUCTS["float32"](1, *2 * (np.array([1e30], np.float32).ctypes.data, 1)))
    vector[-1] = math.nan
    assert math.isnan(sum_of_squares(PRODUCTS[dtype], vector.ctypes.data, len(vector), vector.itemsize))


def test_without_a_blas_that_is_known(monkeypatch):
    """Where NumPy is linked with another library, or cannot be opened, its arrays do the work."""
    vector = np.arange(5.0)
    monkeypatch.setattr(products, "_SPELLINGS", ())
    assert products._product("float64")(5, *2 * (vector.ctypes.data, 1)) == 30
    monkeypatch.setattr(products.ctypes, "PyDLL", lambda path: (_ for _ in ()).throw(OSError(path)))
    assert products._product("float64")(5, *2 * (vector.ctypes.data, 1)) == 30
