"""Observes changes of leaves and of their gradients outside of backward."""

from __future__ import annotations

import sys
from typing import Any

from ....engine.aliasing.views import has_history, requires_grad
from ....engine.tensors.base import TensorBase
from ...events import Event
from ...program.frames import source_line
from ...program.stacks import stack_of
from .caller import caller_of
from .entries import array_of
from .names import Names, worthy
from .nodes import any_nonzero
from .watching import Observer, Watching, guarded


class Leaves(Observer):
    """Sends ``leaf`` and ``read``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._names = Names(watching)

    @guarded
    def leaf_changed(self, t: TensorBase, value: bool) -> None:
        """``requires_grad`` was set."""
        self._send("leaf", "requires_grad_", t, {"change": "requires_grad", "value": value})
        number = self.watching.sink.tensors.known(t)
        if number is not None and value:
            self.watching.sink.tensors[number].requires_grad = True

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
        caller = caller_of(sys._getframe(2))
        if caller.internal or caller.frame is None:
            return
        line = source_line(caller.frame)
        names = self._names.of_inputs(caller, [t])
        number = self.watching.number(t, line, name=worthy(names[0]))
        facts = {"tensor": number, "names": names, "leaf": not has_history(t), **data}
        if kind == "leaf":
            facts["stack"] = stack_of(caller.frame)
        elif not requires_grad(t):
            return
        if self.watching.run is not None:
            facts["run"] = self.watching.run.number
        self.watching.send(Event(kind, op, line, facts))
