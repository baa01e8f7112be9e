"""Hooks on the nodes of one graph for one backward pass, all removed together.

PyTorch has ``Function._register_hook`` make a handle for each hook, which takes most of the time that it takes to hang
one up.  These hooks need none: what they are entered in is noted, and while they are hung up ``Entering`` enters them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ...base import Node
from ...patches import Patches
from ..library import LIBRARY

_hanging: dict[int, NodeHooks] = {}
"""Thread -> whose hooks it is hanging up."""


class NodeHooks:
    """Registers hooks, and removes them again."""

    def __init__(self) -> None:
        self._entered: list[Any] = []
        """For each hook the dictionary that has it under this object; its handle where PyTorch gave it one."""

    def before(self, hooks: Iterable[tuple[Node, Callable[[Any], None]]]) -> None:
        """Let hooks be called with all that arrives before their nodes run."""
        self._hang((node.register_prehook, hook) for node, hook in hooks)

    def after(self, hooks: Iterable[tuple[Node, Callable[[Any, Any], None]]]) -> None:
        """Let hooks be called with what their nodes gave and got."""
        self._hang((node.register_hook, hook) for node, hook in hooks)

    def _hang(self, hooks: Iterable[tuple[Callable[[Any], Any], Any]]) -> None:
        """Hang hooks up."""
        note, thread = self._entered.append, threading.get_ident()
        around = _hanging.get(thread)
        _hanging[thread] = self
        try:
            for register, hook in hooks:
                note(register(hook))
        finally:
            if around is None:
                del _hanging[thread]
            else:
                _hanging[thread] = around

    def remove(self) -> None:
        """Remove all, as handles would, but without notice to whoever listens to hooks being removed."""
        while self._entered:
            entered = self._entered.pop()
            if type(entered) is OrderedDict:
                entered.pop(self, None)
            else:
                hooks = entered.hooks_dict_ref()
                if hooks is not None:
                    hooks.pop(entered.id, None)


def install_entering(patches: Patches) -> None:
    """Let hooks that ``NodeHooks`` hangs up be entered without handles."""
    for cls in LIBRARY.torch.autograd.Function.__mro__:
        if "_register_hook" in vars(cls):
            patches.wrap_directly(cls, "_register_hook", _wrap_register)
            return


def _wrap_register(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make registering enter hooks of ``NodeHooks`` alone; where none hangs hooks up it does what it did."""

    def _register_hook(hooks: Any, hook: Any) -> Any:
        mine = _hanging.get(threading.get_ident())
        if mine is None:
            return original(hooks, hook)
        if hooks is None:
            hooks = OrderedDict()  # of the program's own type, which may add hooks
        hooks[mine] = hook
        return hooks, hooks

    return _register_hook
