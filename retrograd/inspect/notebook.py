"""Displays graphs in a notebook: as a drawing, and as a tree where only text is supported."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from html import escape

from .output import drawn
from .recording.events import Recording
from .render import RenderOptions, renderer_for

TEXT_ROWS = 60
"""Rows of the tree."""


def recording_bundle(recording: Recording, plain: str) -> dict[str, str]:
    """Return the last graph of a recording with its findings, by MIME type.

    ``plain`` is shown if there is no graph.  It never raises, because a notebook would show a traceback instead.
    """
    bundle = {"text/plain": plain}
    options = RenderOptions()
    with suppress(Exception):
        recording, options = drawn(recording, options)
    for kind, name, chosen in (
        ("text/plain", "tree", replace(options, max_nodes=TEXT_ROWS)),
        ("image/svg+xml", "svg", options),
    ):
        with suppress(Exception):
            bundle[kind] = str(renderer_for(name).render(recording, chosen))
    return bundle


class Page:
    """The page of a recording as the output of a cell: the HTML file in a frame of its own."""

    def __init__(self, text: str, height: int) -> None:
        self.text = text
        self.height = height

    def __repr__(self) -> str:
        return f"<page of {len(self.text):,} characters>"

    def _repr_html_(self) -> str:
        """Show the page; it loads nothing from elsewhere and does not touch the notebook."""
        looks = f"width:100%;height:{self.height}px;border:1px solid #8888"
        return f'<iframe title="retrograd" style="{looks}" srcdoc="{escape(self.text)}"></iframe>'


def page(recording: Recording, height: int, options: RenderOptions) -> Page:
    """Return the page of a recording for a cell, ``height`` pixels high."""
    return Page(str(renderer_for("html").render(*drawn(recording, options))), height)
