"""A drawing as a PDF page, for papers: lines and text stay what they are."""

from __future__ import annotations

from ..typeset import TypesetRenderer

RENDERER = TypesetRenderer("pdf")
