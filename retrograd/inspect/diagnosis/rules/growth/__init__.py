"""Graphs that grow from step to step, or that nothing frees."""

from __future__ import annotations

from .check import CHECK

__all__ = ["CHECK"]
