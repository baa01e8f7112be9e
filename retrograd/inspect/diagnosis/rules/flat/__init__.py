"""Gradients that die out, blow up or are cut to zero on their way from the loss to the leaves."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
