"""Element-wise kernels that a formula may have as steps, as it has NumPy's functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

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
