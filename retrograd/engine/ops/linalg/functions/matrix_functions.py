"""Powers and the exponential of square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....table.public import public
from ....table.registry import F
from ....tensors.base import wrap


@public("matrix_exp", namespace="linalg")
def matrix_exp(input: Any) -> Any:  # noqa: A002
    """The exponential of square matrices."""
    return F._matrix_exp(input)


@public("matrix_power", namespace="linalg", out=Out(exact=True))
def matrix_power(A: Any, n: int) -> Any:  # noqa: N803
    """The ``n``-th power of square matrices, by repeated squaring."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but got a tensor of size " + str(list(A.shape))
        )
    if n == 0:
        eye = np.broadcast_to(np.eye(A.shape[-1], dtype=A._sig.numpy), tuple(A.shape))
        return A.clone().copy_(wrap(eye.copy()))
    if n == 1:
        return A.clone()
    if n < 0:
        A, n = F._inv(A), -n  # noqa: N806
    if n == 3:
        return A.matmul(A).matmul(A)
    result = None
    while n:
        if n & 1:
            result = A if result is None else result.matmul(A)
        n >>= 1
        if n:
            A = A.matmul(A)  # noqa: N806
    return result
