"""Drawings of recordings: ``formats`` has a file for each output format; the other modules are shared by them.

A new format is one new file in ``formats`` with a module-level ``RENDERER``; the folder is listed, nothing else.
"""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

from ...errors import UnknownFormatError
from ..plugins import plugins_in
from . import formats
from .base import Demanding, InPieces, Renderer, RenderOptions, capped, chosen_snapshots

__all__ = [
    "Demanding",
    "InPieces",
    "RenderOptions",
    "Renderer",
    "capped",
    "chosen_snapshots",
    "renderer_for",
    "renderers",
]


@functools.cache
def renderers() -> dict[str, Renderer]:
    """Return all renderers by name, sorted; their modules are imported at the first call."""
    found = plugins_in(formats, "RENDERER").values()
    return {renderer.name: renderer for renderer in sorted(found, key=lambda renderer: renderer.name)}


def renderer_for(wanted: str) -> Renderer:
    """Return the renderer of a format name (``"svg"``), suffix (``".svg"``) or file name (``"a/b.svg"``).

    Raises ``UnknownFormatError``, which names the nearest format and all there are.
    """
    known = renderers()
    key = wanted.strip().lower()
    if key in known:
        return known[key]
    endings = [(suffix, renderer) for renderer in known.values() for suffix in renderer.suffixes]
    # Longest suffix first, so that "run.trace.json" may belong to another renderer than ".json".
    for suffix, renderer in sorted(endings, key=lambda pair: (-len(pair[0]), pair[0])):
        if key.endswith(suffix) or f".{key}" == suffix:
            return renderer
    raise _unknown_format(wanted, key, known)


def _unknown_format(wanted: str, key: str, known: dict[str, Renderer]) -> UnknownFormatError:
    """Return the error that names the nearest format and all the others."""
    words = {word.lstrip("."): name for name, found in known.items() for word in (name, *found.suffixes)}
    tail = key.rsplit(".", 1)[-1].rsplit("/", 1)[-1]
    near = difflib.get_close_matches(tail, sorted(words), n=1, cutoff=0.6)
    hint = f"Did you mean {words[near[0]]!r}? " if near else ""
    listed = ", ".join(f"{name} ({' '.join(found.suffixes)})" for name, found in known.items())
    is_file = len(Path(wanted).suffix) > 1 and not wanted.startswith(".")
    what = f"Unknown output format: the suffix of {wanted!r}." if is_file else f"Unknown output format {wanted!r}."
    return UnknownFormatError(what, f"{hint}Available: {listed}.")
