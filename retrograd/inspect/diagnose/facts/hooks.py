"""Hooks of the program: what each hangs on, and the one in whose code the program ended."""

from __future__ import annotations

from ...events import Event
from .flow import Flow


def hangs_on(hook: Event) -> str:
    """Return the sort of thing that a hook hangs on: ``tensor``, ``node``, ``module``, ``post-accumulate``."""
    return hook.op


def hook_that_failed(flow: Flow) -> Event | None:
    """Return the registration of the hook in whose code the program ended, if it ended in one."""
    source = flow.error.source if flow.error else None
    name = source.function if source else None
    registered = [event for _, event in flow.of_kind("hook", action="registered")]
    return next((event for event in reversed(registered) if _own_name(event) == name), None)


def _own_name(registered: Event) -> str:
    return str(registered.data.get("hook")).rpartition(".")[2]
