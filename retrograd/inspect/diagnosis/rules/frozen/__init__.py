"""Parameters whose ``requires_grad`` was switched off although their gradient is wanted."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
