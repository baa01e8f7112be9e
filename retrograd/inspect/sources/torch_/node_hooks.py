"""Hooks on the nodes of one graph for the length of one run, hung up at little cost and taken off without a word.

``Node.register_prehook`` makes a handle and an ordered dict for every node, which takes longer than the hook runs.
``Tensor.register_hook`` has the node of its tensor call what is in the tensor's dict of hooks, by a method
(``_register_hook_dict``) that makes neither, so one tensor of our own can lend each node a dict.  What stays behind, as
of hooks of either sort, is one that calls nothing; but each time a new one, so no node gets a second in this way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ..base import Node


class NodeHooks:
    """Hangs hooks up, and takes them off again."""

    def __init__(self, *, quick: bool) -> None:
        """``quick``: it does no harm if hooks are called where their node does not run, as hooks of tensors are."""
        self._handles: list[Any] = []
        self._dicts: list[dict[int, Any]] = []
        torch = sys.modules["torch"]
        self._lender = torch.frombuffer(bytearray(1), dtype=torch.uint8) if quick else None  # which no profiler sees

    def before(self, node: Node, hook: Callable[[Any], None]) -> None:
        """Let a hook be called with all that arrives before a node runs."""
        self._handles.append(node.register_prehook(hook))

    def before_new(self, node: Node, hook: Callable[[Any], None]) -> None:
        """Let a hook be called with what arrives first, of a node of an operator that never got such a hook."""
        if self._lender is None:
            self.before_old(node, hook)
            return
        hooks = {0: hook}
        self._lender._backward_hooks = hooks
        node._register_hook_dict(self._lender)
        self._dicts.append(hooks)

    def before_old(self, node: Node, hook: Callable[[Any], None]) -> None:
        """The same of any node."""
        self._handles.append(node.register_prehook(partial(_with_first, hook)))

    def after(self, node: Node, hook: Callable[[Any, Any], None]) -> None:
        """Let a hook be called with what a node gave and got."""
        self._handles.append(node.register_hook(hook))

    def hung_up(self) -> None:
        """No more are hung up."""
        if self._lender is not None:
            self._lender._backward_hooks = None
            self._lender = None

    def remove(self) -> None:
        """Take all off, as the handles would, but without telling who listens to hooks being taken off."""
        self.hung_up()
        while self._dicts:
            self._dicts.pop().clear()
        while self._handles:
            handle = self._handles.pop()
            hooks = handle.hooks_dict_ref()
            if hooks is not None:
                hooks.pop(handle.id, None)


def _with_first(hook: Callable[[Any], None], gradients: Any) -> None:
    """Call a hook with the first of several gradients."""
    hook(gradients[0] if gradients else None)
