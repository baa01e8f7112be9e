"""PNG and PDF: our drawing, converted by the library typst; with ``--layout dot``, Graphviz's drawing."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from typing import Literal

from ...errors import LayoutError
from ..layout.dot_program import require_dot, run_dot
from ..recording.events import Recording
from .base import RenderOptions
from .formats import dot, svg

_PAGE = (
    "#set page(width: auto, height: auto, margin: 0pt)\n#set document(title: sys.inputs.title, date: none)\n"
    '#image(bytes(sys.inputs.svg), format: "svg")\n'
)
"""A page as large as the drawing; without a date, so that one graph gives one file."""
_PER_INCH = 96.0
"""Pixels of a drawing per inch; a PNG has two dots for each,"""
_MOST_DOTS = 60e6
"""or fewer where all together would be more than this."""
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
_DATE = re.compile(rb"/CreationDate \(D:[^()]*\)")
INSTEAD = "Write an .svg or .html, which need nothing."


class TypesetRenderer:
    """Writes the chosen graphs as one picture that needs no browser."""

    binary = True

    def __init__(self, name: Literal["png", "pdf"]) -> None:
        self.name: Literal["png", "pdf"] = name
        self.suffixes = (f".{name}",)

    def demand(self, options: RenderOptions, level: str) -> None:
        """Raise ``LayoutError`` where what draws it is missing."""
        if options.layout == "dot":
            require_dot(INSTEAD)
        elif importlib.util.find_spec("typst") is None:
            raise LayoutError(
                f"A {self.name.upper()} needs the library typst, which is not installed.",
                f"pip install 'retrograd[pictures]', or let Graphviz draw with --layout dot. {INSTEAD}",
            )

    def render(self, recording: Recording, options: RenderOptions) -> bytes:
        """Return the picture; raises ``LayoutError`` where what draws it is missing, fails or takes too long."""
        self.demand(options, "graph")
        if options.layout == "dot":
            made = run_dot(dot.RENDERER.render(recording, options), self.name, instead=INSTEAD)
            # Blanked out at its full length, since a PDF is read by byte offsets: one graph, one file.
            return _DATE.sub(lambda found: b" " * len(found[0]), made)
        theme = "light" if options.theme == "auto" else options.theme
        return self._typeset(svg.RENDERER.render(recording, replace(options, theme=theme)), options.title)

    def _typeset(self, drawing: str, title: str) -> bytes:
        """Return a drawing in this format."""
        import typst

        inputs = {"svg": drawing, "title": title}
        try:
            made: bytes = typst.compile(_PAGE.encode(), format=self.name, ppi=sharpness(drawing), sys_inputs=inputs)
        except typst.TypstError as error:
            raise LayoutError(f"typst could not make a {self.name.upper()}: {error}", INSTEAD) from error
        return made


def sharpness(drawing: str) -> float:
    """Return how many dots per inch a drawing may have."""
    width, height = map(float, _SIZE.search(drawing).groups())  # type: ignore[union-attr]
    most: float = _PER_INCH * (_MOST_DOTS / max(width * height, 1.0)) ** 0.5
    return min(2 * _PER_INCH, most)
