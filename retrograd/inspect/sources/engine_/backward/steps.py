"""Passes the nodes of our engine to a breakpoint, one by one, as they run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .....engine import observe
from .....engine.core.absent import AbsentMemory
from .....engine.core.base import TensorBase
from ...base import Node, Ran
from ...collect import short_name
from .facts import array_of
from .lines import LINES, Follower


class _Steps:
    """The observer; an exception from its callback leaves the pass."""

    def __init__(self, look: Callable[[Ran], None]) -> None:
        self._look = look
        self._thread = threading.get_ident()
        self._incoming: list[tuple[Any, ...]] = []
        self._around: list[int] = []
        """For each running pass, how many nodes had begun before it."""
        self._busy = False

    def backward_began(self, roots: Any) -> None:
        """Note how many nodes the pass is nested in."""
        if self._thread == threading.get_ident():
            self._around.append(len(self._incoming))

    def node_began(self, node: Node, grads: list[Any]) -> None:
        """Note the incoming gradients: a leaf takes them over while it runs."""
        if self._thread == threading.get_ident() and not self._busy:
            self._incoming.append(tuple(map(_array, grads)))

    def node_ended(self, node: Node, grads: list[Any], results: Any) -> None:
        """Pass the node to the callback."""
        if self._thread != threading.get_ident() or self._busy or not self._incoming:
            return
        line = None
        if LINES.tables is not None:
            (line,), *_ = LINES.tables.find([node._sequence_nr()])
        self._busy = True
        try:
            self._look(Ran(short_name(node.name()), line, self._incoming.pop(), tuple(map(_array, results))))
        finally:
            self._busy = False

    def backward_ended(self, error: BaseException | None) -> None:
        """Drop the state of a failed pass, but not of those around it."""
        if self._thread == threading.get_ident():
            del self._incoming[self._around.pop() if self._around else 0 :]


@contextmanager
def stepping(look: Callable[[Ran], None]) -> Iterator[None]:
    """Call ``look`` for each node that runs on this thread."""
    observers = (_Steps(look), Follower())
    with LINES.watch():
        for observer in observers:
            observe.add(observer)
        try:
            yield
        finally:
            for observer in observers:
                observe.remove(observer)


def _array(g: Any) -> Any:
    """Return a gradient as a read-only array, None if there is none or its data cannot be read."""
    array = array_of(g) if isinstance(g, TensorBase) else g
    if not isinstance(array, np.ndarray) or isinstance(array, AbsentMemory):
        return None
    seen = array.view()
    seen.flags.writeable = False
    return seen
