"""Kernels of several operators in one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

# Element-wise kernels that a formula may have as steps, as it has NumPy's functions.

KERNELS: dict[str, Callable[..., Any]] = {}
"""The kernels by name, as generated code calls them."""


def formula_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Let formulas have calls of a kernel as steps; its result must have the dtype of its first argument.

    ``calls.formula`` reads a function by calling it with symbols, which note what is applied to them.
    """
    name = kernel.__name__
    KERNELS[name] = kernel

    @functools.wraps(kernel)
    def call(first: Any, *rest: Any) -> Any:
        noted = None if first.__class__ is np.ndarray else getattr(first, "noted", None)
        return kernel(first, *rest) if noted is None else noted(name, (first, *rest))

    return call


# `x * factor + shift` rounded once, as a processor's fused multiply-add computes it.

_SPLITTER = 2.0**27 + 1


@np.errstate(all="ignore")
def fused(x: Any, factor: float, shift: float) -> Any:
    """``x * factor + shift`` in the precision of ``x`` (single or double), rounded once."""
    if x.dtype == np.float32:  # a product of two floats is exact in double precision
        return (np.multiply(x, np.float64(factor), dtype=np.float64) + shift).astype(np.float32)
    product = x * factor
    if not shift:
        return product
    total = product + shift
    lost = _product_error(x, factor, product) + _sum_error(product, shift, total)
    return total + np.where(np.isfinite(lost), lost, 0.0)


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the digits whose sum is ``x`` (Veltkamp 1968)."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high


def _product_error(x: Any, y: Any, product: Any) -> Any:
    """What rounding took from ``x * y`` (Dekker 1971)."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _sum_error(x: Any, y: Any, total: Any) -> Any:
    """What rounding took from ``x + y`` (Knuth 1969)."""
    part = total - x
    return (x - (total - part)) + (y - part)
