"""Reads dumps of PyTorch's flight recorder (``fr_trace.rank0``) as recordings that hold only collectives.

A dump is a pickle of dictionaries, lists, strings and numbers. Anything that would call or import something is
rejected, so that a file from an untrusted source may be read.
"""

from __future__ import annotations

import ast
import io
import pickle
import re
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

from ...errors import RecordingError
from ..operators.collectives import collective
from ..program.frames import is_users_file
from ..program.places import SourceLine
from ..program.texts import plain_lines
from .events import Event, Recording

ENGINE = "flight recorder"
"""Name of the engine in such recordings."""
_MARK = b"\x80"
"""The first byte of a pickle; no text begins with it."""
_ALL = "0"
"""PyTorch's name of the group of all processes."""
_FIRST_GROUP = 1000
"""Number of the first other group, far above the numbers in ordinary recordings."""
_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
    "Byte": "uint8",
    "Char": "int8",
}


def is_dump(path: str) -> bool:
    """Whether a file is a pickle, as dumps are, and not a program."""
    try:
        with open(path, "rb") as file:
            return file.read(1) == _MARK
    except OSError:
        return False


def load_dump(path: str) -> Recording:
    """Read a dump; its rank is the number at the end of its name.

    Raises ``RecordingError`` if the file is not a dump, and ``OSError``.
    """
    with open(path, "rb") as file:
        content = file.read()
    numbers = re.findall(r"\d+", path.rpartition("rank")[2]) or re.findall(r"\d+", path)
    if not numbers:
        raise RecordingError(f"The name {path!r} does not say of which rank it is.", "Call it fr_trace.rank0.")
    try:
        plain = _Plain(io.BytesIO(content)).load()
        return _recording(plain, int(numbers[-1]))
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise RecordingError(
            f"The file {path!r} is a pickle but no dump of PyTorch's flight recorder: {error or type(error).__name__}.",
            "Give one that was written because of TORCH_NCCL_DUMP_ON_TIMEOUT=1, or by _dump_fr_trace().",
        ) from error


class _Plain(pickle.Unpickler):
    """Unpickles numbers, texts and containers, and nothing else."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Reject every import."""
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Reject references to objects outside the file."""
        raise pickle.UnpicklingError("it refers to something outside")


def _recording(plain: dict[str, Any], rank: int) -> Recording:
    """Return the recording that a dump describes."""
    groups = {name: _ranks(about["ranks"]) for name, about in plain["pg_config"].items()}
    world = max((1 + max(members) for members in groups.values() if members), default=0)
    events = [
        Event("collective", "init_process_group", None, {"group": _number(name), "rank": rank, "members": members})
        for name, members in groups.items()
        if name not in ("", _ALL)  # gloo has one without a name, which may be any
    ]
    waiting: set[str] = set()
    for entry in plain["entries"]:
        name = str(entry["process_group"][0])
        event = _event(entry, _number(name))
        if not (entry.get("retired") or entry.get("state") == "completed" or name in waiting):
            event.data["pending"] = True  # those after it are only scheduled
            waiting.add(name)
        events.append(event)
    found = Recording(engine=ENGINE, level="full", events=events, rank=rank, world_size=max(world, rank + 1))
    found.complete, found.sources = False, _texts(events)
    return found


def _texts(events: list[Event]) -> dict[str, dict[int, str]]:
    """Return the text of each recorded line whose file exists here."""
    found: dict[str, dict[int, str]] = {}
    for event in events:
        if event.source is not None:
            lines = plain_lines(event.source.file)
            if event.source.line <= len(lines):
                found.setdefault(event.source.file, {})[event.source.line] = lines[event.source.line - 1]
    return found


def _ranks(ranks: Any) -> list[int]:
    """Return the ranks of a group, which dumps write as text: ``[0, 1]``."""
    return [int(one) for one in (ast.literal_eval(ranks) if isinstance(ranks, str) else ranks)]


def _number(name: str) -> int:
    """Return the number of a group, the same on all ranks."""
    return 0 if name == _ALL else _FIRST_GROUP + (int(name) if name.isdecimal() else zlib.crc32(name.encode()))


def _event(entry: dict[str, Any], group: int) -> Event:
    """Return the event of one collective, or of a message from one rank to another."""
    name = entry["profiling_name"].rpartition(":")[2].partition(" ")[0]
    lines = list(_lines(entry.get("frames") or ()))
    data: dict[str, Any] = {"group": group, "shapes": [list(map(int, size)) for size in entry["input_sizes"]]}
    data["dtypes"] = [_DTYPES.get(one, one.lower()) for one in entry.get("input_dtypes", ())]
    if not entry.get("is_p2p"):
        data["sequence"] = int(entry["collective_seq_id"])
    if len(lines) > 1:
        data["stack"] = [{"file": one.file, "line": one.line, "function": one.function} for one in lines]
    return Event("collective", collective(name), lines[0] if lines else None, data)


def _lines(frames: Any) -> Iterator[SourceLine]:
    """Yield the program's own lines, innermost first."""
    for frame in frames:
        if is_users_file(frame["filename"]):
            yield SourceLine(frame["filename"], int(frame["line"]), frame["name"])
