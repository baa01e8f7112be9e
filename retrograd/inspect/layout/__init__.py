"""Layouts: positions of cards and routes of edges. ``layered`` is ours; ``graphviz_`` calls the ``dot`` program."""

from __future__ import annotations

from .base import Box, Layout, Point, Size

__all__ = ["Box", "Layout", "Point", "Size"]
