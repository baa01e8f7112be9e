"""Writes events of hooks: registered, removed, run, and whether they changed their argument."""

from __future__ import annotations

import dis
from typing import Any, NamedTuple

from ...bounded import BoundedDict
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Sink

_GIVEN_GRADIENTS = ("tensor", "node-pre")
"""Kinds of hooks that get the gradient before anything else."""


class _Registered(NamedTuple):
    """The fields of a hook's events."""

    kind: str
    on: dict[str, Any]
    line: SourceLine | None
    gone: bool = False
    """Whether it was removed: one that removes itself is still running then."""


class Hooks:
    """The hooks of one recording, by their handles."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._known: BoundedDict[int, _Registered] = BoundedDict(100_000)

    def registered(self, handle: int, kind: str, hook: Any, on: dict[str, Any], line: SourceLine | None) -> None:
        """Send that a hook was registered on ``on``: a tensor, a node, or a module by number and type."""
        name = getattr(hook, "__qualname__", None) or getattr(hook, "__name__", None) or type(hook).__name__
        if (given := _return_line(hook)) and "method" in on:
            on = {**on, "returns": given}
        self._known[handle] = registered = _Registered(kind, {"handle": handle, "hook": str(name), **on}, line)
        self._send("registered", registered, line)

    def removed(self, handle: int, line: SourceLine | None) -> None:
        """Send that a hook was removed."""
        known = self._known.get(handle)
        if known is not None and not known.gone:
            self._known[handle] = known._replace(gone=True)
            self._send("removed", known, line)

    def ran(self, handle: int, run: int | None, *, returned: bool, in_place: bool, zeroed: bool) -> None:
        """Send that a hook ran; one that was registered before the recording is unknown."""
        known = self._known.get(handle)
        if known is None:
            return
        more: dict[str, Any] = {"returned": returned}
        if in_place and known.kind in _GIVEN_GRADIENTS:
            more["in_place"] = True
        if zeroed and known.kind == "tensor":
            more["zeroed"] = True
        if run is not None:
            more["run"] = run
        self._send("ran", known, known.line, more)

    def _send(self, action: str, of: _Registered, line: SourceLine | None, more: dict[str, Any] | None = None) -> None:
        self._sink(Event("hook", of.kind, line, {"action": action, **of.on, **(more or {})}))


def _return_line(hook: Any) -> int:
    """Return the first line at which a function returns a value other than None, 0 if there is none."""
    code = getattr(hook, "__code__", None)
    before: Any = None
    for one in dis.get_instructions(code) if code is not None else ():
        if one.opname == "RETURN_VALUE" and not (before.opname == "LOAD_CONST" and before.argval is None):
            return (one.positions.lineno if one.positions else None) or 0
        before = one
    return 0
