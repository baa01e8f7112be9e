"""Layouts: where cards and edges go.  ``layered`` is ours; ``graphviz_`` asks the ``dot`` binary."""

from __future__ import annotations

from .base import Box, Layout, Point, Size

__all__ = ["Box", "Layout", "Point", "Size"]
