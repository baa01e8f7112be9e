"""Hooks on the nodes of one graph for the length of one run, all taken off together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..base import Node


class NodeHooks:
    """Registers hooks, and removes them again."""

    def __init__(self) -> None:
        self._handles: list[Any] = []

    def before(self, hooks: Iterable[tuple[Node, Callable[[Any], None]]]) -> None:
        """Let hooks be called with all that arrives before their nodes run."""
        note = self._handles.append
        for node, hook in hooks:
            note(node.register_prehook(hook))

    def after(self, node: Node, hook: Callable[[Any, Any], None]) -> None:
        """Let a hook be called with what a node gave and got."""
        self._handles.append(node.register_hook(hook))

    def remove(self) -> None:
        """Remove all, as the handles would, but without notice to whoever listens to hooks being removed."""
        while self._handles:
            handle = self._handles.pop()
            hooks = handle.hooks_dict_ref()
            if hooks is not None:
                hooks.pop(handle.id, None)
