"""Gradients that flow into a target: what a prediction is compared with and that is not to be trained by it."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
