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

from ...graphs.columns import Plain
from ...progress import followed
from ...recording.events import Event, Recording
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
    for key, value in recording.plain_parts(_event_text).items():
        yield f"{separator}{_compact(key)}: "
        yield from _spread(value, _OPENED.get(key, 0), " ")
        separator = ",\n "
    yield "\n}\n"


def _spread(value: Plain, levels: int, indent: str) -> Iterator[str]:
    """Yield JSON text with one line for each entry down to ``levels`` below here, compact further down."""
    if not levels:
        yield _text(value)
        return
    inner, named = indent + " ", isinstance(value, dict)
    opening, closing = "{}" if named else "[]"
    separator, end = f"{opening}\n{inner}", opening + closing
    for entry in followed(value.items() if named else value):
        if named:
            yield f"{separator}{_compact(entry[0])}: "
            yield from _spread(entry[1], levels - 1, inner)
        elif levels == 1:
            yield separator + _text(entry)
        else:
            yield separator
            yield from _spread(entry, levels - 1, inner)
        separator, end = f",\n{inner}", f"\n{indent}{closing}"
    yield end


class _Text(str):
    """JSON text, to be written as it is."""

    __slots__ = ()


def _text(value: Plain) -> str:
    """Return a value as JSON on one line."""
    return value if value.__class__ is _Text else _compact(value)


def _event_text(event: Event) -> _Text:
    """Return an event as JSON; to make JSON values of all that it holds first takes as long again."""
    try:
        return _Text(_compact_values(event.parts()))
    except (TypeError, ValueError):  # it holds something else, or a NaN or infinity
        return _Text(_compact(event.to_plain()))


def _python_number(value: Any) -> Plain:
    """Return the Python number that equals a NumPy scalar, which the encoder does not know."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a recording cannot hold a {type(value).__name__}")


def _encoder(**default: Any) -> Any:
    """One encoder for all lines, of which a large recording has hundreds of thousands; it writes strict JSON on one."""
    return json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), **default
    ).encode


_compact = _encoder(default=_python_number)
_compact_values = _encoder()
"""Raises for what ``_compact`` makes a number of, or an event a word."""
