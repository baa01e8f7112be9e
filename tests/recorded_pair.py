"""Records one program on both engines, so that the two recordings can be compared."""

from __future__ import annotations

import linecache
from typing import Any

from retrograd.inspect import Recording
from retrograd.inspect.process.recorder import recording

PROGRAM = "recorded_program.py"


def record(source: str, engine: str, level: str = "full") -> tuple[Recording, BaseException | None]:
    """Run a program whose first line imports torch on an engine (a module's name); returns what ended it, too."""
    text = source.replace("import torch", f"import {engine} as torch", 1)
    linecache.cache[PROGRAM] = (len(text), None, text.splitlines(True), PROGRAM)
    error = None
    try:
        with recording(level=level) as recorded:
            exec(compile(text, PROGRAM, "exec"), {"__name__": "__main__"})
    except Exception as raised:
        error = raised.with_traceback(None)
    return recorded, error


def calls(recorded: Recording) -> list[tuple[Any, ...]]:
    """What happened to tensors, call by call, in words that do not depend on the engine."""
    found = []
    for event in recorded.events:
        if event.kind in ("operation", "inplace", "cut"):
            data, line = event.data, event.source.line if event.source else 0
            made = data["nodes"][1] - data["nodes"][0] if "nodes" in data else 0
            names, results = tuple(data.get("names", ())), tuple(data.get("output_names", ()))
            rest = (names[:1],) if event.kind == "inplace" else (names, results, made)
            found.append((event.kind, event.op, line, *rest))
    return found


def of_kind(recorded: Recording, kind: str) -> list[Any]:
    """The events of one kind."""
    return [event for event in recorded.events if event.kind == kind]
