"""How graphs show themselves in a notebook: as a drawing, and as a tree where only text is shown."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from .events import Recording
from .output import with_findings
from .render import RenderOptions, renderer_for

TEXT_ROWS = 60
"""Rows of the tree."""


def recording_bundle(recording: Recording, plain: str) -> dict[str, str]:
    """Return the last graph of a recording by MIME type, with what a diagnosis finds.

    ``plain`` is shown if there is no graph.  It never raises, because a notebook would show a traceback instead.
    """
    bundle = {"text/plain": plain}
    options = RenderOptions()
    with suppress(Exception):
        options = with_findings(recording, options)
    for kind, name, chosen in (
        ("text/plain", "tree", replace(options, max_nodes=TEXT_ROWS)),
        ("image/svg+xml", "svg", options),
    ):
        with suppress(Exception):
            bundle[kind] = str(renderer_for(name).render(recording, chosen))
    return bundle
