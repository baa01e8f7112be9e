"""A drawing in pixels (PNG), for places that take no SVG; Graphviz makes it from our DOT text."""

from __future__ import annotations

from ...events import Recording
from ...layout.dot_program import require_dot, run_dot
from ..base import RenderOptions
from . import dot

INSTEAD = "Write an .svg or .html, which retrograd draws itself."


class PngRenderer:
    """Writes the chosen graphs as one PNG drawing; needs Graphviz."""

    name = "png"
    suffixes = (".png",)
    binary = True

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``LayoutError`` where Graphviz is missing."""
        require_dot(INSTEAD)

    def render(self, recording: Recording, options: RenderOptions) -> bytes:
        """Return the PNG; raises ``LayoutError`` where Graphviz is missing, fails or takes too long."""
        return run_dot(dot.RENDERER.render(recording, options), "png", instead=INSTEAD)


RENDERER = PngRenderer()
