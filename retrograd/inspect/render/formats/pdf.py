"""A drawing as a PDF page, for papers; Graphviz makes it from our DOT text."""

from __future__ import annotations

import re

from ...events import Recording
from ...layout.dot_program import require_dot, run_dot
from ..base import RenderOptions
from . import dot

_DATE = re.compile(rb"/CreationDate \(D:[^()]*\)")
INSTEAD = "Write an .svg or .html, which retrograd draws itself."


class PdfRenderer:
    """Writes the chosen graphs as one PDF drawing; needs Graphviz."""

    name = "pdf"
    suffixes = (".pdf",)
    binary = True

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``LayoutError`` where Graphviz is missing."""
        require_dot(INSTEAD)

    def render(self, recording: Recording, options: RenderOptions) -> bytes:
        """Return the PDF; raises ``LayoutError`` where Graphviz is missing, fails or takes too long."""
        page = run_dot(dot.RENDERER.render(recording, options), "pdf", instead=INSTEAD)
        # Blanked out at its full length, since a PDF is read by byte offsets: one graph, one file.
        return _DATE.sub(lambda found: b" " * len(found[0]), page)


RENDERER = PdfRenderer()
