"""Observes every call of an operator: what went in and came out, what was kept, what left the graph."""

from __future__ import annotations

import weakref
from typing import Any

from ....engine.base import TensorBase
from ....engine.state import STATE
from ....engine.tensor import Tensor
from ....engine.views import requires_grad
from ...events import Event
from .. import array_values as values
from .caller import Caller, spelled
from .choosers import choosers
from .describing import Describing, saved_numbers
from .watching import Observer, Watching, guarded

_ALONE = frozenset({Tensor, int, float, bool, str, type(None)})
"""Types of arguments that hold no tensors within."""
_MADE = 64
"""Results after which a call counts as a new one: a loop comes to the same place again and again."""
_SCALARS = ("float", "int", "bool", "complex")


class Calls(Observer):
    """Sends ``operation`` and ``cut``."""

    def __init__(self, watching: Watching, tell: Describing) -> None:
        super().__init__(watching)
        self._tell = tell

    # -- operations
    def took(self, ns: int) -> None:
        """How long the operation took that is going to be told."""
        self._tell.pending.took = ns

    @guarded
    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any) -> None:
        """An operator ran."""
        caller = self._tell.caller()
        if caller is None:
            return
        if op.view and caller.function == "setitem":
            self._tell.pending.whole = self._tell.pending.whole or weakref.ref(inputs[0])
            return
        line, row = self._tell.line(caller.frame), spelled(op.name)
        name = self._tell.names.cast(caller, op.name) or caller.function or row
        within = self._within_call(caller) if row != name else ()
        data = self._tell.given(inputs, self._tell.names.of_inputs(caller, inputs, within), line)
        self._tell.results(data, outputs, self._tell.names.of_outputs(caller, outputs), line)
        data["time_us"] = self._tell.pending.took / 1e3
        share = values.flat_share(name, outputs[0]._array, data["range"][0])
        if share:
            data["flat_share"] = share
        arguments = self._tell.arguments(op, args)
        if arguments:
            data["arguments"] = arguments
        if node is not None:
            number = node._number - self.watching.begin
            data["nodes"] = [number, number + 1]
            data["saves"] = saved_numbers(node, inputs, data["inputs"], data["outputs"])
        self._tell.judge(data, op, inputs, outputs)
        self._tell.note_pole(data, row, args)
        kind, reason = self._kind(op, node, inputs, outputs)
        if kind == "cut":
            data["reason"] = reason
        if kind == "cut" or (line is not None and line.function != "<module>"):
            data["stack"] = self._tell.names.stack(caller.frame)
        types = list(map(type, args))
        if types.count(Tensor) != len(inputs) or not _ALONE.issuperset(types):
            for number in choosers(args, self.watching.sink.tensors):
                if number not in data["inputs"]:
                    data["inputs"].append(number)
                    data["names"] = [*data["names"], ""]
        self._tell.send(Event(kind, name, line, data))
        self._within_call(caller).update(data["outputs"])

    def _within_call(self, caller: Caller) -> set[int]:
        """Numbers of what the call under way at the user's line has made so far: a function may take several rows."""
        pending, frame = self._tell.pending, caller.frame
        place = (id(frame), 0 if frame is None else frame.f_lasti)
        if pending.place != place or len(pending.made) > _MADE:
            pending.place, pending.made = place, set()
        return pending.made

    @guarded
    def created(self, t: TensorBase) -> None:
        """A tensor was made from nothing, or from numbers."""
        caller = self._tell.caller()
        if caller is None:
            return
        line = self._tell.line(caller.frame)
        data = self._tell.given([], [], line)
        self._tell.results(data, [t], self._tell.names.of_outputs(caller, [t]), line)
        self._tell.judge(data, None, [], [t])
        self._tell.send(Event("operation", caller.function or self._tell.names.form(caller) or "tensor", line, data))

    @guarded
    def copied(self, given: Any, t: TensorBase) -> None:
        """A tensor was made of other tensors' values."""
        for source in [given] if isinstance(given, TensorBase) else _tensors_within(given):
            if requires_grad(source) or (t._meta is not None and t._meta.is_parameter):
                self._cut("copy", source, t)

    # -- the way out
    @guarded
    def cut(self, reason: str, t: TensorBase, result: Any) -> None:
        """A value was taken out of the graph."""
        self._cut(reason.rstrip("_"), t, result)

    def _cut(self, reason: str, t: TensorBase, result: Any) -> None:
        caller = self._tell.caller()
        if caller is None or (caller.function and reason != "copy"):  # a function of ours reads a value for itself
            return
        line = self._tell.line(caller.frame)
        data = self._tell.given([t], self._tell.names.of_inputs(caller, [t]), line)
        made = [result] if isinstance(result, TensorBase) and result is not t else []
        self._tell.results(data, made, self._tell.names.of_outputs(caller, made), line)
        if reason in ("data", "detach") and made:
            self._tell.aliases[data["outputs"][0]] = reason
            self.watching.sink.tensors[data["outputs"][0]].view_of = data["inputs"][0]
        kind = "cut" if requires_grad(t) or reason == "numpy" else "operation"
        if kind == "cut":
            data["reason"] = reason
            data["stack"] = self._tell.names.stack(caller.frame)
        form = self._tell.names.form(caller)
        self._tell.send(Event(kind, form if reason == "item" and form in _SCALARS else reason, line, data))

    def _kind(self, op: Any, node: Any, inputs: Any, outputs: Any) -> tuple[str, str]:
        """Whether a call's result left the graph, and why."""
        if node is not None or self.watching.here.forwards or not any(requires_grad(t) for t in inputs):
            return "operation", ""
        if any(requires_grad(t) for t in outputs):  # a view of a leaf counts as the leaf, grad mode or not
            return "operation", ""
        if STATE.inference:
            return "cut", "inference"
        if not STATE.grad_enabled:
            return "cut", "no_grad"
        if not all(t._sig.differentiable for t in outputs):
            return "cut", "integer"
        return "cut", "nondifferentiable"


def _tensors_within(value: Any) -> list[TensorBase]:
    """Tensors in nested lists."""
    if not isinstance(value, (list, tuple)):
        return []
    waiting, found = list(value[:1000]), []
    for one in waiting:  # grows while it is read
        if isinstance(one, TensorBase):
            found.append(one)
        elif isinstance(one, (list, tuple)) and len(waiting) < 1000:
            waiting.extend(one[:1000])
    return found
