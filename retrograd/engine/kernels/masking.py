"""Values where a condition holds and zeros elsewhere.

A product with the mask makes NaN of an infinity times 0, and ``np.where`` takes five times as long where the mask is
irregular (116 against 21 µs for 16,384 numbers), so that the bits are multiplied as integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .fused import formula_kernel

try:
    from numpy._core.umath import clip as _clip  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # another NumPy
    _clip = None

_BITS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
_BOUNDS = {char: (np.array(0, char), np.array(np.inf, char)) for char in "fd"}


@formula_kernel
def kept(values: Any, mask: Any, when: bool = True) -> Any:
    """The values where a boolean mask is ``when``, 0 elsewhere."""
    bits = _BITS.get(values.dtype.itemsize)
    if bits is None:
        zero = values.dtype.type(0)
        return np.where(mask, values, zero) if when else np.where(mask, zero, values)
    return (values.view(bits) * (mask if when else ~mask)).view(values.dtype)


@formula_kernel
def positive(x: Any) -> Any:
    """``np.maximum(x, 0)``, for which NumPy takes twice as long as for cutting off on both sides."""
    bounds = _BOUNDS.get(x.dtype.char)
    return np.maximum(x, x.dtype.type(0)) if bounds is None or _clip is None else _clip(x, *bounds)
