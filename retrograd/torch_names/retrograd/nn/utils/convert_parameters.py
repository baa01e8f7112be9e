"""Many parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.overriding.wrappers import called_publicly
from ...engine.tensors.tensor import Tensor

_cat = called_publicly("torch", "cat", FUNCTIONS["cat"])


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All entries of all parameters in one dimension; recorded."""
    return _cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Let the parameters' data be pieces of ``vec``; ``TypeError`` if that is not a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    place = 0
    for p in parameters:
        size = p.numel()
        p.data = vec[place : place + size].view_as(p).data
        place += size
