"""Chains from the loss to a leaf that are cut: by leaving the graph, or by an operation without a derivative."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
