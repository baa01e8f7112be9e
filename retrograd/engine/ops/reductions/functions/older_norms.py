"""Vector norms as recorded by PyTorch's functions that predate ``linalg.vector_norm``."""

from __future__ import annotations

from typing import Any

from ....table.registry import OPS

_OF_ALL = OPS["_vector_norm"].with_node("NormBackward0")
_ALONG = OPS["_vector_norm"].with_node("NormBackward1")


def norm_of_all(x: Any, p: Any) -> Any:
    """The ``p``-norm of all elements."""
    return _OF_ALL(x, p, None, False)


def norm_along(x: Any, p: Any, dims: Any, keepdim: bool = False) -> Any:
    """The ``p``-norm along dimensions."""
    return _ALONG(x, p, dims, keepdim)
