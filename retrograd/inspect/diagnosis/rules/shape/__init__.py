"""Shapes that fit by accident, or do not fit backward."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
