"""Scopes that the user names with ``rg.scope``, passed on by our engine to all sources."""

from __future__ import annotations

from collections.abc import Callable

from .base import Sink

FOLLOWERS: list[Callable[[Sink, str, bool], None]] = []
"""Listeners, called with the sink of the watch, the name, and whether the scope begins."""


def notify_followers(sink: Sink, name: str, begins: bool) -> None:
    """Tell all followers that a scope begins or ends on this thread."""
    for follower in tuple(FOLLOWERS):
        follower(sink, name, begins)
