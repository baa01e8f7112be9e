"""Hooks of the program: what each is registered on, and the one in whose code the program ended."""

from __future__ import annotations

from ...program.places import SourceLine
from ...recording.events import Event
from .flow import Flow


def target_kind(hook: Event) -> str:
    """Return the kind of object that a hook is registered on: ``tensor``, ``node``, ``module``, ``post-accumulate``."""
    return hook.op


def hook_that_failed(flow: Flow) -> Event | None:
    """Return the registration of the hook in whose code the program ended, if it ended in one."""
    source = flow.error.source if flow.error else None
    registered = [event for _, event in flow.of_kind("hook", action="registered")]
    return next((event for event in reversed(registered) if source is not None and is_code_of(event, source)), None)


def is_code_of(registered: Event, line: SourceLine) -> bool:
    """Whether a line belongs to the code of a hook; a lambda's is the line that registered it."""
    name = str(registered.data.get("hook")).rpartition(".")[2]
    if name.startswith("<"):
        return registered.source is not None and registered.source[:2] == line[:2]
    return line.function == name
