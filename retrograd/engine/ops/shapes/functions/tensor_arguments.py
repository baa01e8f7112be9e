"""Checks the arguments of functions that take tensors one by one but not as a list."""

from __future__ import annotations

from typing import Any

from ....tensors.base import TensorBase


def tensors_of(tensors: tuple[Any, ...]) -> list[Any]:
    """The arguments of a function that takes tensors, but no list of them."""
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)
