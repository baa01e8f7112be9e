"""``func.debug_unwrap``: the tensor inside the transforms of ``torch.func``, for debugging."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase, wrap


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """A tensor without history over the same memory; of an entry of a batch, that entry. For printing only."""
    if not isinstance(tensor, TensorBase):
        return tensor
    return wrap(tensor._array, shares=True)
