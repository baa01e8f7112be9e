"""Observes changes of leaves and of their gradients outside of backward."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

from .....engine.aliasing.views import requires_grad
from .....engine.core.base import TensorBase
from .....engine.core.gradient import read_grad
from .....engine.overriding import overrides
from .....interpreter import getframe
from ....program.frames import INTERCEPTORS, source_line
from ....program.places import SourceLine
from ....program.stacks import stack_of
from ...call_data import worthy
from ...writers.leaves import leaf_event, read_event
from ..backward.facts import array_of
from ..backward.nodes import any_nonzero
from ..deferred_events import completed_event
from ..watching import Observer, Watching, guarded
from .caller import Caller, caller_of
from .names import Names

_OVERRIDING = os.path.dirname(str(overrides.__file__)) + os.sep
"""Where ``.grad`` is looked up on the path to its own function, once a class or mode in the process may override it."""


class Leaves(Observer):
    """Sends ``leaf`` and ``read``."""

    hears_updates = False

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._names = Names(watching)

    @guarded
    def leaf_changed(self, t: TensorBase, value: bool) -> None:
        """Note that ``requires_grad`` was set."""
        self._send("requires_grad", "requires_grad", t, value=value)
        number = self.watching.sink.tensors.known(t)
        if number is not None and value:
            self.watching.sink.tensors.requires_grad(number)

    @guarded
    def swapped(self, t: TensorBase) -> None:
        """Note that a tensor got another one's memory."""
        self.watching.describe_again(t)

    @guarded
    def grad_set(self, t: TensorBase, value: Any) -> None:
        """Note that ``.grad`` was assigned, or deleted."""
        change = "grad-cleared" if value is None else "grad-set"
        if value is not None and not any_nonzero(array_of(value)):
            change = "grad-zeroed"
        if value is None:
            self._send("grad", change, t)
            return
        given = self.watching.number(value)
        self._send("grad", change, t, given=given)
        self.watching.has_gradient(self.watching.number(t), value, given)

    @guarded
    def data_set(self, t: TensorBase, value: Any) -> None:
        """Note that ``.data`` was assigned."""
        given = {"given": self.watching.number(value)} if isinstance(value, TensorBase) else {}
        self._send("data", "written", t, **given)

    @guarded
    def read(self, t: TensorBase) -> None:
        """Note that ``.grad`` was read: only if a leaf has none, or the tensor is not a leaf."""
        if t._meta is not None and t._meta.grad is not None and t.is_leaf:
            return
        caller = self._caller()
        if caller is None or not requires_grad(t) or not _looks_itself(caller.frame):
            return
        line, texts, number = self._number(t, caller)
        event = read_event(t, number, line, self.watching.run_number)
        self.watching.sink.note((completed_event, event, texts, [number], ()))

    def _send(self, op: str, change: str, t: TensorBase, **more: Any) -> None:
        """Send a change of a leaf or its gradient, unless a function of ours made it."""
        caller = self._caller()
        if caller is not None:
            line, texts, number = self._number(t, caller)
            event = leaf_event(op, change, number, line, stack_of(caller.frame), self.watching.run_number, **more)
            self.watching.sink.note((completed_event, event, texts, [number], ()))

    def _caller(self) -> Caller | None:
        """Return the caller, if the read is to be reported."""
        caller = caller_of(getframe(2)) if self.watching.sink.wants() else None
        return None if caller is None or caller.internal or caller.frame is None else caller

    def _number(self, t: TensorBase, caller: Caller) -> tuple[SourceLine | None, list[str] | None, int]:
        """Return the line of a call, the texts of its tensors, and the number of one."""
        line, texts, number = source_line(caller.frame), self._names.texts(caller), self.watching.sink.tensors.known(t)
        if number is None:
            number = self.watching.enter(t, line, worthy(texts[0]) if texts else "")
        self.watching.sink.mention(line)
        return line, texts, number


def _looks_itself(user: FrameType | None) -> bool:
    """Whether the user's line reads ``.grad`` itself, not a function of ours, such as ``clip_grad_norm_``."""
    frame: FrameType | None = getframe(2)
    while frame is not None and frame.f_code is not read_grad.__code__:
        frame = frame.f_back
    frame = frame and frame.f_back
    while frame is not None and frame is not user and _passes_on(frame):
        frame = frame.f_back
    return frame is user


def _passes_on(frame: FrameType) -> bool:
    """Whether a frame only lets a call be overridden."""
    return frame.f_code.co_name in INTERCEPTORS or frame.f_code.co_filename.startswith(_OVERRIDING)
