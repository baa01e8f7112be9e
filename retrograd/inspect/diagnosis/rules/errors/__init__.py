"""Exceptions out of autograd: what each says of this program, and what to write instead."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
