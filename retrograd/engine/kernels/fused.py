"""``x * factor + shift`` rounded once, as a processor's fused multiply-add computes it."""

from __future__ import annotations

from typing import Any

import numpy as np

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
