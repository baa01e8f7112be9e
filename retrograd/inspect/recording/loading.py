"""Reads recordings from JSON files, and says in one sentence what is wrong with a file that does not hold one."""

from __future__ import annotations

import json
import sys
from typing import NoReturn

from ...errors import RecordingError
from ..garbage import collector_paused
from ..graphs.columns import Plain
from ..progress import LARGE_FILE, progress
from .events import SCHEMA, Recording
from .flight_recorder import is_dump, load_dump
from .shared_parts import SharedParts

_AGAIN = "Record it again with: retrograd trace SCRIPT -o run.json"
_PARTS = frozenset({"snapshots", "events"})
"""A JSON file with none of these keys is something else, for example findings."""
_NOT_ONE = "Give a file that was written by: retrograd trace SCRIPT -o run.json"


def load_recording(path: str) -> Recording:
    """Read a recording (or a dump of PyTorch's flight recorder) from a file and return it; ``-`` reads standard input.

    Raises ``RecordingError`` if the file is missing, unreadable, truncated, not a recording, or of another schema::

        run = rg.inspect.load("run.json")
        print(run.findings)
    """
    shown = "standard input" if path == "-" else repr(str(path))
    try:
        if path != "-" and is_dump(path):
            return load_dump(path)
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
    """Return the text of a file or of standard input; bytes if it is not text, so that ``_parse`` can say why."""
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
    """Return the recording that ``render.formats.json_`` wrote as ``content``; ``shown`` is the file's name in errors.

    Raises ``RecordingError`` if ``content`` is truncated, not a recording, or of another schema.
    """
    plain = _parse(content, shown)
    schema = plain.get("schema") if isinstance(plain, dict) else None
    if schema is None or (schema == SCHEMA and _PARTS.isdisjoint(plain)):
        raise RecordingError(
            f"The file {shown} is JSON but no recording of retrograd.",
            _NOT_ONE,
        )
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        raise RecordingError(
            f"The recording {shown} has schema {json.dumps(schema)[:40]}, this retrograd reads {SCHEMA}.",
            "It is of a newer retrograd: update this one." if newer else "Record it again with this version.",
        )
    try:
        return Recording.from_plain(plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        detail = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise RecordingError(f"The recording {shown} is damaged: {detail[:200]}.", _AGAIN) from error


def _parse(content: str | bytes, shown: str) -> Plain:
    """Return the JSON value, or raise an error that says where the text stops being JSON."""
    try:
        return json.loads(_decoded(content), parse_constant=_no_constant, object_hook=SharedParts().share)
    except json.JSONDecodeError as error:
        text = _readable(content)
        if not text.strip():
            raise RecordingError(f"The recording {shown} is empty.", _AGAIN) from error
        if _is_cut_off(text, error):
            raise RecordingError(f"The recording {shown} is cut off after {len(text):,} characters.", _AGAIN) from error
        where = f"line {error.lineno}, column {error.colno}"
        raise RecordingError(f"The file {shown} is not valid JSON ({error.msg}, {where}).", _NOT_ONE) from error
    except UnicodeDecodeError as error:
        text = _readable(content)
        if text.startswith("{") and error.reason == "unexpected end of data":
            raise RecordingError(f"The recording {shown} is cut off after {len(text):,} characters.", _AGAIN) from error
        raise RecordingError(f"The file {shown} is not a recording (it is not UTF-8 text).", _NOT_ONE) from error
    except RecursionError as error:
        raise RecordingError(f"The file {shown} is not a recording (it is nested too deeply).", _NOT_ONE) from error
    except ValueError as error:
        raise RecordingError(f"The file {shown} is not a recording ({str(error)[:100]}).", _NOT_ONE) from error


def _decoded(content: str | bytes) -> str:
    """Return the text without a byte order mark, which some editors add."""
    return content if isinstance(content, str) else content.decode("utf-8-sig")


def _readable(content: str | bytes) -> str:
    """Return bytes as text, whatever they are."""
    return content if isinstance(content, str) else content.decode("utf-8-sig", "replace")


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is valid JSON up to where it ends."""
    near_the_end = error.pos >= len(text.rstrip()) - len("\\uD800 ")
    return text.startswith("{") and (near_the_end or "Unterminated" in error.msg)


def _no_constant(word: str) -> NoReturn:
    """Reject NaN and Infinity, which are not JSON."""
    raise ValueError(f"{word} is not JSON")
