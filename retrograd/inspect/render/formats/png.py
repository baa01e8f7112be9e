"""A drawing as a PNG image, for places that do not take SVG."""

from __future__ import annotations

from ..typeset import TypesetRenderer

RENDERER = TypesetRenderer("png")
