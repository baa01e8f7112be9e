"""Gradients that flow into a target, which a prediction is compared with and which it should not train."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
