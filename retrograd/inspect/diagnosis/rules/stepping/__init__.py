"""Steps of optimizers that move nothing, or by gradients that were not meant for them."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
