"""Observes changes of leaves and of their gradients outside of backward."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from .....engine.aliasing.views import has_history, requires_grad
from .....engine.overriding import overrides
from .....engine.tensors.base import TensorBase
from .....engine.tensors.gradient import read_grad
from ....events import Event
from ....program.frames import INTERCEPTORS, source_line
from ....program.stacks import stack_of
from ..backward.entries import array_of
from ..backward.facts import layout_of, memory_of
from ..backward.nodes import any_nonzero
from ..told_events import event_as_told
from ..watching import Observer, Watching, guarded, shape_and_dtype
from .caller import caller_of
from .names import Names, worthy

_OVERRIDING = os.path.dirname(str(overrides.__file__)) + os.sep
"""Where ``.grad`` is looked up on the way to its own function, once a class or mode in the process may override it."""


class Leaves(Observer):
    """Sends ``leaf`` and ``read``."""

    hears_updates = False

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._names = Names(watching)

    @guarded
    def leaf_changed(self, t: TensorBase, value: bool) -> None:
        """``requires_grad`` was set."""
        self._send("leaf", "requires_grad", t, {"change": "requires_grad", "value": value})
        number = self.watching.sink.tensors.known(t)
        if number is not None and value:
            self.watching.sink.tensors.requires_grad(number)

    @guarded
    def swapped(self, t: TensorBase) -> None:
        """A tensor has got another one's memory."""
        memory, layout = t._array, None
        if memory.base is not None:
            memory, layout = memory_of(memory), layout_of(memory)
        self.watching.sink.tensors.moved(t, *shape_and_dtype(t._sig), layout, memory)

    @guarded
    def grad_set(self, t: TensorBase, value: Any) -> None:
        """``.grad`` was assigned to, or deleted."""
        change = "grad-cleared" if value is None else "grad-set"
        data = {"change": change, "value": value is not None}
        if value is not None and not any_nonzero(array_of(value)):
            data["change"] = "grad-zeroed"
        self._send("leaf", "grad", t, data)
        if value is not None:
            number = self.watching.number(t)
            self.watching.gradients[self.watching.number(value)] = number

    @guarded
    def data_set(self, t: TensorBase, value: Any) -> None:
        """``.data`` was assigned to."""
        data: dict[str, Any] = {"change": "written", "value": True}
        if isinstance(value, TensorBase):
            data["given"] = self.watching.number(value)
        self._send("leaf", "data", t, data)

    @guarded
    def read(self, t: TensorBase) -> None:
        """``.grad`` was read."""
        meta = t._meta
        data = {"value": meta is not None and meta.grad is not None}
        if meta is not None and meta.retains_grad:
            data["retains_grad"] = True
        self._send("read", "grad", t, data)

    def _send(self, kind: str, op: str, t: TensorBase, data: dict[str, Any]) -> None:
        """Send that a leaf or its gradient was changed or read, unless a function of ours did it."""
        if not self.watching.sink.wants():
            return
        caller = caller_of(sys._getframe(4))  # not: this, who asks and its guard, who told that
        if caller.internal or caller.frame is None or (kind == "read" and not _looks_itself(caller.frame)):
            return
        line, texts, number = source_line(caller.frame), self._names.texts(caller), self.watching.sink.tensors.known(t)
        if number is None:
            number = self.watching.enter(t, line, worthy(texts[0]) if texts else "")
        facts = {"tensor": number, "names": [], "leaf": not has_history(t), **data}
        if kind == "leaf":
            facts["stack"] = stack_of(caller.frame)
        elif not requires_grad(t):
            return
        if self.watching.run is not None:
            facts["run"] = self.watching.run.number
        self.watching.sink.mention(line)
        self.watching.sink.note((event_as_told, Event(kind, op, line, facts), texts, [number], ()))


def _looks_itself(user: FrameType) -> bool:
    """Whether the user's line looks at ``.grad``, no function of ours that it called, as ``clip_grad_norm_``."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not read_grad.__code__:
        frame = frame.f_back
    frame = frame and frame.f_back
    while frame is not None and frame is not user and _passes_on(frame):
        frame = frame.f_back
    return frame is user


def _passes_on(frame: FrameType) -> bool:
    """Whether a frame only lets a call be overridden."""
    return frame.f_code.co_name in INTERCEPTORS or frame.f_code.co_filename.startswith(_OVERRIDING)
