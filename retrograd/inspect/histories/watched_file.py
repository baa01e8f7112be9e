"""The file of a watched run: columns of statistics by stretches of steps, events, and the options of the watch."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import RecordingError
from .history import Array, Column, Curves

KIND = "retrograd-watch"
SCHEMA = 1
_BEGINNING = f'{{"kind": "{KIND}"'
_AGAIN = "Watch the training again with: retrograd watch SCRIPT -o run.json"


@dataclass(slots=True)
class WatchedRun:
    """Everything recorded of one watched training run."""

    curves: Curves
    happened: list[dict[str, Any]] = field(default_factory=list)
    """Triggers, notes and breaks, each with its ``step`` and ``kind``."""
    about: dict[str, Any] = field(default_factory=dict)
    """Program, engine, start time, interval of readings, how it ended."""

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return int(self.curves.last[-1]) if len(self.curves) else 0


def encoded(run: WatchedRun) -> str:
    """Return a run as JSON text."""
    curves = run.curves
    return json.dumps(
        {
            "kind": KIND,
            "schema": SCHEMA,
            "about": run.about,
            "happened": run.happened,
            "columns": [list(column) for column in curves.columns],
            "steps": {"first": _packed(curves.first), "last": _packed(curves.last)},
            "figures": {
                "least": _packed(curves.least),
                "median": _packed(curves.median),
                "greatest": _packed(curves.greatest),
            },
        },
        allow_nan=False,
    )


def load_run(path: str) -> WatchedRun:
    """Read a run; raises ``RecordingError`` if the file is not one, is truncated, or has a newer schema."""
    try:
        with open(path, encoding="utf-8") as file:
            return decoded(json.load(file), repr(path))
    except OSError as error:
        raise RecordingError(f"Cannot read {path!r}: {error.strerror}.", "Check the name.") from error
    except ValueError as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"{path!r} is cut off or no JSON file.", _AGAIN) from error


def is_watched_file(path: str) -> bool:
    """Whether a file begins like that of a watched run; False if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except (OSError, ValueError):
        return False


def is_watched(content: Any) -> bool:
    """Whether the content of a JSON file is a watched run."""
    return isinstance(content, dict) and content.get("kind") == KIND


def decoded(content: Any, shown: str) -> WatchedRun:
    """Return the run that a JSON value describes; raises ``RecordingError``."""
    if not is_watched(content):
        raise RecordingError(f"{shown} is not a watched run.", _AGAIN)
    if content.get("schema") != SCHEMA:
        raise RecordingError(
            f"{shown} has schema {content.get('schema')!r}, this version reads {SCHEMA}.", "Update retrograd."
        )
    try:
        columns = tuple(Column(str(figure), str(owner)) for figure, owner in content["columns"])
        first, last = (_unpacked(content["steps"][name], np.int64) for name in ("first", "last"))
        shape = (len(first), len(columns))
        figures = [
            _unpacked(content["figures"][name], np.float32).reshape(shape, order="F")
            for name in ("least", "median", "greatest")
        ]
        curves = Curves(columns, first, last, *figures)
        return WatchedRun(curves, list(content["happened"]), dict(content["about"]))
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise RecordingError(f"{shown} is damaged: {error}.", _AGAIN) from error


def _packed(array: Array) -> str:
    """Return an array as text: little-endian, compressed by columns, in base64."""
    little = array.astype(array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes("F"), 6)).decode("ascii")


def _unpacked(text: str, dtype: type[np.generic]) -> Array:
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.dtype(dtype).newbyteorder("<"))
    return flat.astype(dtype)
