"""Powers of vectors as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....table.public import public
from ....table.registry import F
from ....tensors.base import wrap
from ....tensors.dtype_names import scalar_name


@public("vander", method=False)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """Powers of a vector as columns, falling unless ``increasing``."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = powers_of(x, count)
    if x._sig.kind in "biu":
        powers = F._to_copy(powers, np.dtype(np.int64))
    return powers if increasing else F.flip(powers, (1,))


def powers_of(x: Any, count: int) -> Any:
    """``1, x, x ** 2, ...`` in a new last dimension."""
    ones = wrap(np.ones((*x.shape, min(count, 1)), x._sig.numpy if x._sig.kind != "b" else np.int64)).to(x.device)
    if count <= 1:
        return ones
    wide = F.expand(F.unsqueeze(x, -1), (*x.shape, count - 1))
    return F.cat([ones, F.cumprod(wide, -1)], -1)


@public("vander", namespace="linalg")
def linalg_vander(x: Any, *, N: int | None = None) -> Any:  # noqa: N803
    """Rising powers of vectors in a new last dimension."""
    if x._sig.kind not in "fciu" or x._sig.numpy == np.float16:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {scalar_name(x._sig.numpy)}"
        )
    x = x.reshape(1) if not x.ndim else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return powers_of(x, count)
