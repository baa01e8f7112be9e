"""``info``, which the ``*_ex`` functions return instead of raising: 0 for each matrix that succeeded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.base import wrap
from ..solving import zero_pivots


def zero_info(A: Any) -> Any:  # noqa: N803
    """The ``info`` of a success: 0 for every matrix."""
    return wrap(np.zeros(A.shape[:-2], np.int32))


def first_zero_pivot(A: Any) -> Any:  # noqa: N803
    """Which pivot (counted from 1) is zero; 0 for matrices that have an inverse."""
    return wrap(zero_pivots(A._array))


def first_zero_of_factors(both: Any) -> Any:
    """Which pivot (counted from 1) of matrices that hold both factors is zero; 0 where none is."""
    if both.is_meta:
        return zero_info(both).to(both.device)
    zeros = np.diagonal(both._array, axis1=-2, axis2=-1) == 0
    first = np.argmax(zeros, axis=-1) if zeros.shape[-1] else 0
    return wrap(np.where(zeros.any(-1), first + 1, 0).astype(np.int32))
