"""Values where a mask holds and zeros elsewhere, by their bits.

A product with the mask makes NaN of an infinity times 0, and ``np.where`` takes four times as long where the mask is
irregular (2.6 ms against 0.6 for 400,000 numbers).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def kept(values: Any, mask: Any, when: bool = True) -> Any:
    """The values where a boolean mask is ``when``, 0 elsewhere."""
    bits = _BITS.get(values.dtype.itemsize)
    if bits is None:
        return np.where(mask == when, values, values.dtype.type(0))
    chosen = np.array(mask, bits)
    chosen = np.negative(chosen, out=chosen) if when else np.subtract(chosen, 1, out=chosen)  # all bits or none
    out = chosen if chosen.shape == values.shape else None
    return np.bitwise_and(values.view(bits), chosen, out=out).view(values.dtype)
