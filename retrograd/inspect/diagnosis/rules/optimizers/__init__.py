"""Optimizers that hold other tensors than the graph does."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
