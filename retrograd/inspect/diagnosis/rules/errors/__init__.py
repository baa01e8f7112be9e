"""Exceptions from autograd: what each means for this program, and the fix."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
