"""The face of ``torch.linalg``: everything published in that namespace."""

from __future__ import annotations

from typing import Any

from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.ops.solving import LinAlgError
from .engine.public import NAMESPACES as _NAMESPACES

assert _FUNCTIONS
globals().update(_NAMESPACES["linalg"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'retrograd.linalg' has no attribute '{name}'")


__all__ = ["LinAlgError"]
