"""Saves recordings, traces and graphs, with the findings of a diagnosis, in the format of a file's suffix."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from .garbage import collector_paused
from .graphs.graph import Graph
from .progress import LARGE_FILE, progress
from .recording.events import Recording
from .recording.forward_graph import with_forward
from .render import InPieces, RenderOptions, renderer_for
from .render.base import chosen_steps
from .render.marks import carried
from .render.scale import known_measures, scale
from .writing import STDOUT, check_writable, write_output

_MARKED = ("html", "svg", "png", "pdf", "tree")
"""Formats for people, which show findings even when none are passed."""


def save(what: Any, path: str | os.PathLike[str], fmt: str | None = None, options: RenderOptions | None = None) -> None:
    """Draw a recording, an ``rg.debug()`` trace or a graph that ``walk`` returned, and write it to ``path``.

    ``fmt`` is the format, by default that of the suffix.  ``-`` is standard output, as a tree unless ``fmt`` says
    otherwise.  Raises ``UnknownFormatError``, ``UsageError``, ``NoGraphError``, ``LayoutError`` or ``OutputError``;
    then nothing was written::

        save(rg.walk(loss), "graph.svg")
    """
    recording = recording_of(what)
    path = os.fspath(path)
    options = options or RenderOptions()
    check_writable(path)
    renderer = renderer_for(fmt or ("tree" if path == STDOUT else path))
    check_measure(recording, options)
    with collector_paused(), progress(f"drawing {renderer.name}"):
        if renderer.name != "json":
            recording, options = drawn(recording, options, findings=renderer.name in _MARKED)
        if isinstance(renderer, InPieces):
            write_output(renderer.pieces(recording, options), path)
            return
        content = renderer.render(recording, options)
    with progress("writing", surely_long=len(content) > LARGE_FILE):
        write_output(content, path)


def recording_of(what: Any) -> Recording:
    """Return the recording that can be drawn for ``what``; raises ``UsageError`` for any other type."""
    what = getattr(what, "recording", what)
    if isinstance(what, Graph):
        return Recording(graphs=[what], engine=what.engine)
    if not isinstance(what, Recording):
        raise UsageError(
            f"A {type(what).__name__} cannot be drawn.",
            "Give a recording, an rg.debug() trace, or the graph of a tensor: rg.walk(tensor).",
        )
    return what


def drawn(recording: Recording, options: RenderOptions, *, findings: bool = True) -> tuple[Recording, RenderOptions]:
    """Return the recording to draw and its options: with ``findings``, or its last forward pass if it has no graph.

    Raises ``UsageError`` for a step that the recording does not have.
    """
    if recording.graphs:
        return recording, with_findings(recording, options) if findings else options
    forward = with_forward(recording)
    return forward, replace(options, view="forward") if forward.graphs else options  # there are no gradients to show


def with_findings(recording: Recording, options: RenderOptions) -> RenderOptions:
    """Return options with the findings of a diagnosis, unless they hold findings already.

    Raises ``UsageError`` for a step that the recording does not have.
    """
    if options.findings or not recording.graphs:
        return options
    seen_first = chosen_steps(recording, options)[-1]
    return replace(options, findings=tuple(carried(recording.findings, recording.graphs, seen_first)))


def check_measure(recording: Recording, options: RenderOptions) -> None:
    """Raise ``UsageError`` if nodes are to be coloured by something that the recording lacks."""
    for snapshot in recording.graphs if options.color_by is not None else ():
        if options.color_by in known_measures(snapshot):
            return
    if options.color_by is not None and recording.graphs:
        scale(recording.graphs[-1], options.color_by)
