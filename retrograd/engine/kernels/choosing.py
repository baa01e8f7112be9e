"""Values where a condition holds and zeros elsewhere.

A product with the mask makes NaN of an infinity times 0, and ``np.where`` takes five times as long where the mask is
irregular (116 against 21 µs for 16,384 numbers), so that the bits are multiplied as integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .readable import readable

_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
_BLOCK = 8192
"""Elements of NumPy's buffer: of shorter rows of zeros it would make copies."""
_zeros: dict[Any, Any] = {}


@readable
def kept(values: Any, mask: Any, when: bool = True) -> Any:
    """The values where a boolean mask is ``when``, 0 elsewhere."""
    bits = _BITS.get(values.dtype.itemsize)
    if bits is None:
        zero = values.dtype.type(0)
        return np.where(mask, values, zero) if when else np.where(mask, zero, values)
    return (values.view(bits) * (mask if when else ~mask)).view(values.dtype)


@readable
def positive(x: Any) -> Any:
    """``np.maximum(x, 0)``; NumPy takes three times as long beside one number as beside an array (16 and 5 µs)."""
    zeros = _zeros.get(x.dtype)
    if zeros is None:
        zeros = _zeros[x.dtype] = np.zeros(_BLOCK, x.dtype)
    if x.size < _BLOCK or not x.flags.c_contiguous:
        return np.maximum(x, zeros[0])
    out = np.empty(x.shape, x.dtype)
    rest = x.size % _BLOCK
    source, target = (x, out) if not rest else (x.reshape(-1)[:-rest], out.reshape(-1)[:-rest])
    np.maximum(source.reshape(-1, _BLOCK), zeros, out=target.reshape(-1, _BLOCK))
    if rest:
        np.maximum(x.reshape(-1)[-rest:], zeros[:rest], out=out.reshape(-1)[-rest:])
    return out
