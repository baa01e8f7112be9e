"""Two tensors in their common shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.registry import F


def broadcast_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Both tensors expanded to their common shape; unchanged where they have it."""
    if tuple(a.shape) == tuple(b.shape):
        return a, b
    try:
        shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    except ValueError:
        raise RuntimeError(
            f"The size of tensor a {tuple(a.shape)} must match the size of tensor b {tuple(b.shape)}: sizes must be "
            "equal or 1"
        ) from None
    return _expanded(a, shape), _expanded(b, shape)


def _expanded(t: Any, shape: tuple[int, ...]) -> Any:
    return t if tuple(t.shape) == shape else F.expand(t, shape)
