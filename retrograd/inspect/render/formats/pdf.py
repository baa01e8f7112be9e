"""A drawing as a vector PDF page, for papers."""

from __future__ import annotations

from ..typeset import TypesetRenderer

RENDERER = TypesetRenderer("pdf")
