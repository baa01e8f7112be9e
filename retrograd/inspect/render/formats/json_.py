"""Recordings as one JSON file; ``inspect.loading`` reads it again.

The file has a schema number, one line for each column of a graph and one line for each event, and is strict JSON
(NaN and infinities are null plus a flag).  It always holds the whole recording, whatever step was asked for, so
that every other format can be made from it later without the program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

from ...columns import Plain
from ...events import Recording
from ...progress import followed
from ..base import RenderOptions

_OPENED = {"snapshots": 2, "events": 1, "tensors": 1, "sources": 1}
"""How many levels below a top-level key are spread over lines; deeper ones are compact."""


class JsonRenderer:
    """Writes the whole recording as JSON."""

    name = "json"
    suffixes = (".json",)
    binary = False

    def render(self, recording: Recording, options: RenderOptions) -> str:
        """Return ``recording`` as JSON text; no option changes what is written."""
        return encode_recording(recording)

    def pieces(self, recording: Recording, options: RenderOptions) -> Iterator[str]:
        """Yield the text that ``render`` returns."""
        return _encoded(recording)


RENDERER = JsonRenderer()


def encode_recording(recording: Recording) -> str:
    """Return a recording as JSON text, which ``loading.decode_recording`` reads again without loss."""
    return "".join(_encoded(recording))


def _encoded(recording: Recording) -> Iterator[str]:
    """Yield the text of a recording, of a million events one at a time."""
    separator = "{\n "
    for key, value in recording.plain_parts().items():
        yield f"{separator}{_compact(key)}: "
        yield from _spread(value, _OPENED.get(key, 0), " ")
        separator = ",\n "
    yield "\n}\n"


def _spread(value: Plain, levels: int, indent: str) -> Iterator[str]:
    """Yield JSON text with one line for each entry down to ``levels`` below here, compact further down."""
    if not levels:
        yield _compact(value)
        return
    inner, named = indent + " ", isinstance(value, dict)
    opening, closing = "{}" if named else "[]"
    separator, end = f"{opening}\n{inner}", opening + closing
    for entry in followed(value.items() if named else value):
        if named:
            yield f"{separator}{_compact(entry[0])}: "
            yield from _spread(entry[1], levels - 1, inner)
        else:
            yield separator
            yield from _spread(entry, levels - 1, inner)
        separator, end = f",\n{inner}", f"\n{indent}{closing}"
    yield end


def _python_number(value: Any) -> Plain:
    """Return the Python number that equals a NumPy scalar, which the encoder does not know."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a recording cannot hold a {type(value).__name__}")


_compact = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), default=_python_number
).encode
"""Returns strict JSON on one line; one encoder for all lines, of which a large recording has hundreds of thousands."""
