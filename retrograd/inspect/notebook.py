"""How graphs show themselves in a notebook: as a drawing, and as a tree where only text is shown.

Loading this module is enough: it lends snapshots, which know no renderer, the way to draw themselves.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from . import snapshot as snapshots
from .events import Recording
from .output import recording_of, with_findings
from .render import RenderOptions, renderer_for
from .snapshot import GraphSnapshot

TEXT_ROWS = 60
"""Rows of the tree."""


def recording_bundle(recording: Recording, plain: str, diagnosed: bool = False) -> dict[str, str]:
    """Return the last graph of a recording by MIME type, with what a diagnosis finds if it is to be ``diagnosed``.

    ``plain`` is shown if there is no graph.  It never raises, because a notebook would show a traceback instead.
    """
    bundle = {"text/plain": plain}
    options = RenderOptions()
    if diagnosed:
        with suppress(Exception):
            options = with_findings(recording, options)
    for kind, name, chosen in (
        ("text/plain", "tree", replace(options, max_nodes=TEXT_ROWS)),
        ("image/svg+xml", "svg", options),
    ):
        with suppress(Exception):
            bundle[kind] = str(renderer_for(name).render(recording, chosen))
    return bundle


def _snapshot_bundle(snapshot: GraphSnapshot) -> dict[str, str]:
    """Return one graph by MIME type."""
    plain = f"<GraphSnapshot {snapshot.label!r}: {len(snapshot)} nodes>"
    return recording_bundle(recording_of(snapshot), plain)


snapshots.show_by(_snapshot_bundle)
