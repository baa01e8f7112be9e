"""Recordings as one JSON file: written here, read again here.

The file has a schema number, one line for each column of a graph and one line for each event, and is strict JSON
(NaN and infinities are null plus a flag).  It always holds the whole recording, whatever step was asked for, so
that every other format can be made from it later without the program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, NoReturn

from ....errors import RecordingError
from ...columns import Plain
from ...events import SCHEMA, Recording
from ...garbage import collector_paused
from ...progress import LARGE_FILE, followed, progress
from ...shared_parts import SharedParts
from ..base import RenderOptions

_OPENED = {"snapshots": 2, "events": 1, "tensors": 1, "sources": 1}
"""How many levels below a top-level key are spread over lines; deeper ones are compact."""
_AGAIN = "Record it again with: retrograd trace SCRIPT -o run.json"


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
    """Return a recording as JSON text, which ``decode_recording`` reads again without loss."""
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


def load_recording(path: str) -> Recording:
    """Read a recording file; ``-`` reads standard input.

    Raises ``RecordingError`` when it is missing, unreadable, cut off, no recording or of another schema.
    """
    shown = "standard input" if path == "-" else repr(str(path))
    try:
        content = _read(path)
        with collector_paused(), progress("reading", surely_long=len(content) > LARGE_FILE):
            return decode_recording(content, shown)
    except (OSError, ValueError) as error:
        if isinstance(error, RecordingError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordingError(f"Cannot read the recording {shown}: {reason}.", _remedy(error)) from error


def _remedy(error: Exception) -> str:
    """Say what to do about a file that cannot be opened."""
    if isinstance(error, FileNotFoundError):
        return "Check the name, or make one with: retrograd trace SCRIPT -o run.json"
    if isinstance(error, IsADirectoryError):
        return "Name the recording file inside that folder."
    if isinstance(error, PermissionError):
        return "Ask for read permission, or copy it to a place where you have it."
    return "Check the path."


def _read(path: str) -> str | bytes:
    """Return the text of a file or of standard input; bytes where they are none, for ``_parse`` to say why."""
    if path == "-":
        content = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            content = file.read()
    try:
        return _decoded(content)
    except UnicodeDecodeError:
        return content


def decode_recording(content: str | bytes, shown: str = "given") -> Recording:
    """Return the recording that ``encode_recording`` wrote; ``shown`` names it in errors.

    Raises ``RecordingError`` when ``content`` is cut off, no recording or of another schema.
    """
    plain = _parse(content, shown)
    if not isinstance(plain, dict) or "schema" not in plain:
        raise RecordingError(
            f"The file {shown} is JSON but no recording of retrograd.",
            "Give a file that was written by: retrograd trace SCRIPT -o run.json",
        )
    if plain["schema"] != SCHEMA:
        raise RecordingError(
            f"The recording {shown} has schema {json.dumps(plain['schema'])[:40]}, this retrograd reads {SCHEMA}.",
            "Record it again with this version, or render it with the version that wrote it.",
        )
    try:
        return Recording.from_plain(plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        detail = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise RecordingError(f"The recording {shown} is damaged: {detail[:200]}.", _AGAIN) from error


def _parse(content: str | bytes, shown: str) -> Plain:
    """Return the JSON value, or say where and why it is none."""
    try:
        return json.loads(_decoded(content), parse_constant=_no_constant, object_hook=SharedParts().share)
    except json.JSONDecodeError as error:
        text = _readable(content)
        if not text.strip():
            raise RecordingError(f"The recording {shown} is empty.", _AGAIN) from error
        if _is_cut_off(text, error):
            raise RecordingError(f"The recording {shown} is cut off after {len(text):,} characters.", _AGAIN) from error
        where = f"line {error.lineno}, column {error.colno}"
        raise RecordingError(f"The file {shown} is no JSON ({error.msg}, {where}).", _NOT_ONE) from error
    except UnicodeDecodeError as error:
        text = _readable(content)
        if text.startswith("{") and error.reason == "unexpected end of data":
            raise RecordingError(f"The recording {shown} is cut off after {len(text):,} characters.", _AGAIN) from error
        raise RecordingError(f"The file {shown} is no recording (it is not UTF-8 text).", _NOT_ONE) from error
    except RecursionError as error:
        raise RecordingError(f"The file {shown} is no recording (it is nested too deeply).", _NOT_ONE) from error
    except ValueError as error:
        raise RecordingError(f"The file {shown} is no recording ({str(error)[:100]}).", _NOT_ONE) from error


def _decoded(content: str | bytes) -> str:
    """Return text; a byte order mark, which some editors add, is no part of it."""
    return content if isinstance(content, str) else content.decode("utf-8-sig")


def _readable(content: str | bytes) -> str:
    """Return text, also of bytes that are none."""
    return content if isinstance(content, str) else content.decode("utf-8-sig", "replace")


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text was good JSON as far as it goes."""
    near_the_end = error.pos >= len(text.rstrip()) - len("\\uD800 ")
    return text.startswith("{") and (near_the_end or "Unterminated" in error.msg)


_NOT_ONE = "Give a file that was written by: retrograd trace SCRIPT -o run.json"


def _no_constant(word: str) -> NoReturn:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(f"{word} is not JSON")
