"""A drawing in pixels (PNG), for places that take no SVG."""

from __future__ import annotations

from ..typeset import TypesetRenderer

RENDERER = TypesetRenderer("png")
