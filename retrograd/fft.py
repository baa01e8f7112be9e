"""The face of ``torch.fft``: everything published in that namespace."""

from __future__ import annotations

from typing import Any

from .engine import methods  # noqa: F401  (fills the namespaces)
from .engine.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["fft"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'retrograd.fft' has no attribute '{name}'; it has {', '.join(__all__)}")


__all__ = sorted(_NAMESPACES["fft"])  # noqa: PLE0605
