"""Observes every call of an operator: what went in and came out, what was kept, what left the graph."""

from __future__ import annotations

import math
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import Any

from ....engine.base import TensorBase
from ....engine.saved import SavedTensor
from ....engine.state import STATE, peek_number
from ....engine.views import requires_grad
from ...events import Event
from ...frames import source_line
from ...snapshot import SourceLine
from . import values
from .caller import Caller, caller_of, spelled
from .choosers import choosers
from .spellings import Names
from .watching import Observer, Watching, guarded, memory_of, version

_MAX_LINES = 50_000
_SCALARS = ("float", "int", "bool", "complex")
_PLAIN = (bool, int, float, str)
_SATURATED = 0.5
"""Share of flat entries from which a summary of the inputs is kept."""


class _Pending(threading.local):
    """What a thread has begun."""

    write: Event | None = None
    """An in-place write under way, sent already and completed when it is done."""
    whole: weakref.ref[Any] | None = None
    """The tensor of ``t[i] = v``, while the view that is written to is made."""
    place: tuple[int, int] = (0, 0)
    """Frame and instruction of the latest call."""

    def __init__(self) -> None:
        self.made: set[int] = set()
        """Numbers of what it has made."""


class Calls(Observer):
    """Sends ``operation``, ``inplace`` and ``cut``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._lines: dict[tuple[int, int], tuple[CodeType, SourceLine | None]] = {}
        self._names = Names(watching)
        self._aliases: dict[int, str] = {}
        """Number of a tensor that shares memory behind autograd's back -> how it was got: ``data`` or ``detach``."""
        self._pending = _Pending()

    # -- operations
    @guarded
    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any) -> None:
        """An operator ran."""
        caller = self._caller()
        if caller is None:
            return
        if op.view and caller.function == "setitem":
            self._pending.whole = self._pending.whole or weakref.ref(inputs[0])
            return
        line = self._line(caller.frame)
        name = self._names.cast(caller, op.name) or caller.function or spelled(op.name)
        within = self._within_call(caller) if spelled(op.name) != name else ()
        data = self._given(inputs, self._names.of_inputs(caller, inputs, within), line)
        self._results(data, outputs, self._names.of_outputs(caller, outputs), line)
        share = values.flat_share(name, outputs[0]._array, data["range"][0])
        if share:
            data["flat_share"] = share
        data |= self._arguments(op, args)
        if node is not None:
            number = node._number - self.watching.begin
            data["nodes"] = [number, number + 1]
            data["saves"] = _saved_numbers(node, inputs, data["inputs"], data["outputs"])
        self._judge(data, op, inputs, outputs)
        self._note_pole(data, spelled(op.name), args)
        kind, reason = self._kind(op, node, inputs, outputs)
        if kind == "cut":
            data["reason"] = reason
        if kind == "cut" or (line is not None and line.function != "<module>"):
            data["stack"] = self._names.stack(caller.frame)
        for number in choosers(args, self.watching.sink.tensors):
            if number not in data["inputs"]:
                data["inputs"].append(number)
                data["names"].append("")
        self._send(Event(kind, name, line, data))
        self._within_call(caller).update(data["outputs"])

    def _within_call(self, caller: Caller) -> set[int]:
        """Numbers of what the call under way at the user's line has made so far: a function may take several rows."""
        pending, frame = self._pending, caller.frame
        place = (id(frame), 0 if frame is None else frame.f_lasti)
        if pending.place != place:
            pending.place, pending.made = place, set()
        return pending.made

    @guarded
    def created(self, t: TensorBase) -> None:
        """A tensor was made from nothing, or from numbers."""
        caller = self._caller()
        if caller is None:
            return
        line = self._line(caller.frame)
        data = self._given([], [], line)
        self._results(data, [t], self._names.of_outputs(caller, [t]), line)
        self._judge(data, None, [], [t])
        self._send(Event("operation", caller.function or self._names.form(caller) or "tensor", line, data))

    @guarded
    def copied(self, given: Any, t: TensorBase) -> None:
        """A tensor was made of other tensors' values."""
        for source in [given] if isinstance(given, TensorBase) else _tensors_within(given):
            if requires_grad(source):
                self._cut("copy", source, t)

    # -- the way out
    @guarded
    def cut(self, reason: str, t: TensorBase, result: Any) -> None:
        """A value was taken out of the graph."""
        self._cut(reason.rstrip("_"), t, result)

    def _cut(self, reason: str, t: TensorBase, result: Any) -> None:
        caller = self._caller()
        if caller is None or (caller.function and reason != "copy"):  # a function of ours reads a value for itself
            return
        line = self._line(caller.frame)
        data = self._given([t], self._names.of_inputs(caller, [t]), line)
        made = [result] if isinstance(result, TensorBase) and result is not t else []
        self._results(data, made, self._names.of_outputs(caller, made), line)
        if reason in ("data", "detach") and made:
            self._aliases[data["outputs"][0]] = reason
            self.watching.sink.tensors[data["outputs"][0]].view_of = data["inputs"][0]
        kind = "cut" if requires_grad(t) or reason == "numpy" else "operation"
        if kind == "cut":
            data["reason"] = reason
            data["stack"] = self._names.stack(caller.frame)
        form = self._names.form(caller)
        self._send(Event(kind, form if reason == "item" and form in _SCALARS else reason, line, data))

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

    # -- writes
    @guarded
    def writing(self, op: Any, args: Any) -> None:
        """An in-place operator is tried: should it be refused, this is what is known of it."""
        caller = self._caller()
        if caller is None or not isinstance(args[0], TensorBase):
            return
        t = self._written_tensor(args[0], caller)
        line = self._line(caller.frame)
        inputs = [t, *self._values_written(args, caller)]
        data = self._given(inputs, self._names.of_inputs(caller, inputs), line)
        target = data["inputs"][0]
        before = version(t)
        data |= {"target": target, "version": [before, before], "through": self._through(target, t)}
        data |= {"outputs": [target], "output_names": [""]}
        if _overlaps(t._array):
            data["overlap"] = True
        data |= self._arguments(op, args)
        data["stack"] = self._names.stack(caller.frame)
        name = caller.function or spelled(op.name) + "_"
        event = Event("inplace", name if name.endswith(("_", "item")) else name + "_", line, data)
        self._pending.write = event
        self.watching.send(event)

    @guarded
    def inplace(self, op: Any, args: Any, node: Any, t: TensorBase, inputs: Any) -> None:
        """It was done."""
        event, self._pending.write = self._pending.write, None
        if event is None:
            return
        data = event.data
        data["version"][1] = version(t)
        if node is not None:
            begin = self.watching.begin
            data["nodes"] = [node._number - begin, peek_number() - begin]
            given = [t, *[a for a in args[1:] if isinstance(a, TensorBase)]][: len(data["inputs"])]
            data["saves"] = _saved_numbers(node, given, data["inputs"], [data["target"]])
        if op.name == "_index_put" and not (len(args) > 3 and args[3]):
            count = values.repeated(args[1], args[0]._array.shape)
            if count:
                data["duplicates"] = count
        self._measure(data, [t])
        self._judge(data, op, inputs, [t])
        self._note_gradient(event, t)

    @guarded
    def writing_out(self, value: TensorBase, out: TensorBase) -> None:
        """A result is about to be written into ``out=``."""
        caller = self._caller()
        if caller is None:
            return
        line = self._line(caller.frame)
        data = self._given([value, out], ["", ""], line)
        now = version(out)
        data |= {"target": data["inputs"][1], "version": [now, now + 1], "through": "out"}
        data["stack"] = self._names.stack(caller.frame)
        self.watching.send(Event("inplace", caller.function, line, data))

    @guarded
    def refused(self, name: str, args: Any, error: BaseException) -> None:
        """A call raised."""
        text = f"{type(error).__name__}: {error}"
        event, self._pending.write = self._pending.write, None
        if event is not None:
            event.kind, event.data["error"] = "operation", text
            self.watching.sink.explain(error, event.source)
            return
        caller = self._caller()
        if caller is None:
            return
        line = self._line(caller.frame)
        inputs = [a for a in args if isinstance(a, TensorBase)]
        data = self._given(inputs, self._names.of_inputs(caller, inputs), line)
        name = caller.function or spelled(name)
        self.watching.send(Event("operation", name, line, data | {"outputs": [], "error": text}))
        self.watching.sink.explain(error, line)

    def _values_written(self, args: Any, caller: Caller) -> list[TensorBase]:
        """The other operands of a write; a number that ``t[i] = 0.0`` was made a tensor of is not the user's."""
        known = self.watching.sink.tensors.known
        given = [a for a in args[1:] if isinstance(a, TensorBase)]
        return [a for a in given if caller.function != "setitem" or requires_grad(a) or known(a) is not None]

    def _written_tensor(self, t: TensorBase, caller: Caller) -> TensorBase:
        """The tensor that the user's line writes to: ``t[i] = v`` writes to a view that nobody else sees."""
        whole, self._pending.whole = self._pending.whole, None
        if whole is None or caller.function != "setitem":
            return t
        held = whole()
        return held if held is not None and memory_of(held) is memory_of(t) else t

    def _through(self, number: int, t: TensorBase) -> str:
        """The way to the memory that a write takes."""
        table = self.watching.sink.tensors
        seen: int | None = number
        while seen is not None:
            if seen in self._aliases:
                return self._aliases[seen]
            seen = table[seen].view_of
        return "view" if t._meta is not None and t._meta.view is not None else ""

    def _note_gradient(self, event: Event, t: TensorBase) -> None:
        """A write that leaves some leaf's ``.grad`` all zero has cleared it."""
        target = event.data["target"]
        leaf = self.watching.gradients.get(target)
        if leaf is not None and event.data["range"] == [[0.0, 0.0]]:
            data = {"tensor": leaf, "change": "grad-zeroed"}
            self.watching.send(Event("leaf", event.op, event.source, data))

    # -- parts of an event
    def _caller(self) -> Caller | None:
        """Who called, if that is to be recorded."""
        if not self.watching.sink.wants():
            return None
        caller = caller_of(sys._getframe(2))
        return None if caller.internal or caller.frame is None else caller

    def _line(self, frame: FrameType | None) -> SourceLine | None:
        if frame is None:
            return None
        key = (id(frame.f_code), frame.f_lasti)
        known = self._lines.get(key)
        if known is None:
            if len(self._lines) >= _MAX_LINES:
                self._lines.clear()
            known = self._lines[key] = (frame.f_code, source_line(frame))
        return known[1]

    def _given(self, inputs: Any, names: list[str], line: SourceLine | None) -> dict[str, Any]:
        """What every event of a call says of its inputs and surroundings."""
        watching = self.watching
        known = watching.sink.tensors.known
        fresh = [t for t in inputs if known(t) is None]
        names_of = self._names.worthy
        numbers = [watching.number(t, line, name=names_of(n)) for t, n in zip(inputs, names, strict=True)]
        data: dict[str, Any] = {"inputs": numbers, "names": names}
        data["grad"] = STATE.grad_enabled and not STATE.inference
        if STATE.inference:
            data["inference"] = True
        here = watching.here
        if here.scopes:
            data["scope"] = here.scopes[-1]
        if here.runs:
            data["run"] = here.runs[-1].number
        for t in fresh:  # nobody saw it being made, so nothing is known of its values yet
            self._note_values(data, t, only_bad=True)
        return data

    def _results(self, data: dict[str, Any], outputs: Any, names: list[str], line: SourceLine | None) -> None:
        watching = self.watching
        numbers = []
        for t, name in zip(outputs, names, strict=True):
            numbers.append(watching.number(t, line, name=self._names.worthy(name)))
        data["outputs"] = numbers
        data["output_names"] = names
        self._measure(data, outputs)

    def _measure(self, data: dict[str, Any], outputs: Any) -> None:
        measured = [values.range_and_sum(t._array) for t in outputs]
        limits = [limit for limit, _ in measured]
        data["range"] = limits
        data["checksum"] = [total for _, total in measured]

    def _judge(self, data: dict[str, Any], op: Any, inputs: Any, outputs: Any) -> None:
        """Keep summaries where the values tell something."""
        bad = not all(map(values.is_finite, data["range"]))
        flat = data.get("flat_share", 0.0)
        if not bad and not (flat == 1.0 or (flat > _SATURATED and op.name != "relu")):
            return
        for t in [*inputs, *outputs]:
            self._note_values(data, t)

    def _note_pole(self, data: dict[str, Any], name: str, args: Any) -> None:
        """Keep where an argument lies at a value at which the slope is infinite."""
        found = values.pole(name, args)
        if found is not None:
            t = args[found[0]]
            self._note_values(data, t)
            data["values"][str(self.watching.number(t))]["pole"] = found[1]

    def _note_values(self, data: dict[str, Any], t: TensorBase, *, only_bad: bool = False) -> None:
        if t._array.dtype.kind not in "fc":
            return
        if only_bad and values.is_finite(values.value_range(t._array)):
            return
        data.setdefault("values", {})[str(self.watching.number(t))] = values.summary(t._array)

    def _arguments(self, op: Any, args: Any) -> dict[str, Any]:
        """Plain arguments by position, without those that are as usual."""
        plain = {}
        for i, value in enumerate(args):
            if _is_plain(value) and not (i >= op.required and value == op.defaults[i - op.required]):
                plain[str(i)] = value
        return {"arguments": plain} if plain else {}

    def _send(self, event: Event) -> None:
        table = self.watching.sink.tensors
        row = self.watching.send(event)
        for number in event.data["outputs"]:
            facts = table[number]
            if facts.made_by is None and number not in event.data["inputs"]:
                facts.made_by = row


def _is_plain(value: Any) -> bool:
    """Whether an argument is a number or text, or a few of them."""
    if isinstance(value, TensorBase):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (tuple, list)):
        return bool(value) and len(value) <= 16 and all(isinstance(v, _PLAIN) for v in value)
    return isinstance(value, _PLAIN)


def _saved_numbers(node: Any, inputs: Any, numbers: list[int], outputs: list[int]) -> list[int]:
    """Numbers of the inputs and outputs that a node keeps for backward."""
    saved = getattr(node, "saved", None) or ()
    found: list[int] = []
    by_id = {id(t): number for t, number in zip(inputs, numbers, strict=True)}
    for name, value in zip(node.op.saved_names, saved, strict=False):
        if name == "result" and value is not None:
            found.extend(outputs)
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            kept = one._tensor if isinstance(one, SavedTensor) else one
            if id(kept) in by_id:
                found.append(by_id[id(kept)])
    return found


def _overlaps(array: Any) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(array.shape, array.strides, strict=True))


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
