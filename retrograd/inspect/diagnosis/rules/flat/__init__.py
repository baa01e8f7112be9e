"""Gradients that vanish, explode or are cut to zero on their path from the loss to the leaves."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
