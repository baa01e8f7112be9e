"""Calls kernels in double precision, on at least one dimension, without NumPy's warnings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtypes import scalar_name

Kernel = Callable[..., Any]


def in_double(kernel: Kernel) -> Kernel:
    """Run a kernel on flat float64 arrays of equal length; the result has the operands' common dtype and shape.

    Raises ``NotImplementedError`` for complex operands.
    """

    @functools.wraps(kernel)
    def call(*operands: Any) -> Any:
        arrays = np.broadcast_arrays(*[np.asarray(x) for x in operands])
        kept = np.result_type(*operands)
        if kept.kind == "c":
            raise NotImplementedError(f'"{kernel.__name__.strip("_")}" not implemented for {scalar_name(kept)!r}')
        flat = [np.array(a, dtype=np.float64).ravel() for a in arrays]
        return np.asarray(kernel(*flat)).astype(kept if kept.kind == "f" else np.float64).reshape(arrays[0].shape)

    return call


def piecewise(x: Any, *cases: tuple[Any, Kernel], otherwise: float = np.nan) -> Any:
    """Apply to each element the kernel of the first condition that holds there."""
    out = np.full(x.shape, otherwise)
    free = np.ones(x.shape, bool)
    for condition, kernel in cases:
        here = condition & free
        if here.any():
            out[here] = kernel(x[here])
            free &= ~here
    return out


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's scheme, highest power first."""
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total
