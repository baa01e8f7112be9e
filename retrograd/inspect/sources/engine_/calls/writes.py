"""Observes in-place writes: attempted, done or rejected, and the view through which they reach the memory."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from .....engine.aliasing.views import requires_grad
from .....engine.core.base import TensorBase
from .....engine.switches.state import peek_number
from ....operators import canonical, inplace
from ....program.frames import source_line
from ....recording.events import Event, called
from ...writers.leaves import leaf_event
from ..backward.facts import layout_of, memory_of
from ..objects.shared import SharedMemory
from ..watching import Observer, Watching, guarded, version
from .call_describer import CallDescriber
from .caller import Caller, spelled
from .lost_writes import lost_writes
from .saved import saved_numbers, saved_positions


class Writes(Observer):
    """Sends ``inplace``, and calls that raised."""

    hears_updates = False

    def __init__(self, watching: Watching, describer: CallDescriber, shared: SharedMemory) -> None:
        super().__init__(watching)
        self._describer = describer
        self._shared = shared

    @guarded
    def writing(self, op: Any, args: Any) -> None:
        """Note an in-place operator that is tried, in case it is rejected."""
        caller = self._describer.caller()
        if caller is None or not isinstance(args[0], TensorBase):
            return
        site = self._describer.sites.at(caller, op)
        t = self._written_tensor(args[0], caller)
        inputs = [t, *self._values_written(args, caller)]
        data = self._describer.given(inputs, site.texts, site.line)
        target = data["inputs"][0]
        before = version(t)
        data |= {"target": target, "version": [before, before], "through": self._through(target, t)}
        data |= {"outputs": [target], "output_names": [""]}
        if t is not args[0] and (layout := layout_of(args[0]._array)):
            data["part"] = [[layout[0]], list(args[0]._array.shape), list(layout[1:])]
        if _overlaps(t._array):
            data["overlap"] = True
        arguments = self._describer.arguments(op, args)
        if arguments:
            data["arguments"] = arguments
        data["stack"] = self._describer.names.stack(caller.frame)
        name = caller.function or site.row
        written = name if inplace(name) else f"{name}_"
        event = called("inplace", self._describer.names.written(caller, canonical(name)) or written, site.line, data)
        self._describer.pending.write = event
        self._describer.send(event, site.texts)
        self._describer.pending.began = perf_counter_ns()

    @guarded
    def inplace(self, op: Any, args: Any, node: Any, t: TensorBase, inputs: Any) -> None:
        """Note that it was done."""
        event, self._describer.pending.write = self._describer.pending.write, None
        if event is None:
            return
        data = event.data
        data["time_us"] = (perf_counter_ns() - self._describer.pending.began) / 1e3
        data["version"][1] = version(t)
        if node is not None:
            begin = self.watching.begin
            data["nodes"] = [node._number - begin, peek_number() - begin]
            given = [t, *[a for a in args[1:] if isinstance(a, TensorBase)]][: len(data["inputs"])]
            data["saves"] = saved_numbers(saved_positions(node, given), data["inputs"], [data["target"]])
        if lost := lost_writes(op, args):
            data["duplicates"] = lost
        self._describer.allocations.wrote(op, args)
        self._describer.measure(data, [t])
        self._describer.judge(data, data["range"], op.name, [*inputs, t])
        self._note_gradient(event, t)
        self._shared.written(t)

    @guarded
    def writing_out(self, value: TensorBase, out: TensorBase) -> None:
        """Note that a result is about to be written into ``out=``."""
        caller = self._describer.caller()
        if caller is None:
            return
        line = source_line(caller.frame)
        data = self._describer.given([value, out], None, line)
        now = version(out)
        self._describer.allocations.writes(out)
        data |= {"target": data["inputs"][1], "version": [now, now + 1], "through": "out"}
        data["stack"] = self._describer.names.stack(caller.frame)
        self._describer.send(called("inplace", caller.function, line, data), None)

    @guarded
    def refused(self, name: str, args: Any, error: BaseException) -> None:
        """Note that a call raised."""
        text = f"{type(error).__name__}: {error}"
        event, self._describer.pending.write = self._describer.pending.write, None
        if event is not None:
            event.kind, event.data["error"] = "operation", text
            self.watching.sink.explain(error, event.source)
            return
        caller = self._describer.caller()
        if caller is None:
            return
        line = source_line(caller.frame)
        inputs = [a for a in args if isinstance(a, TensorBase)]
        texts = self._describer.names.texts(caller)
        data = self._describer.given(inputs, texts, line) | {"outputs": [], "error": text}
        self._describer.send(called("operation", caller.function or spelled(name), line, data), texts)
        self.watching.sink.explain(error, line)

    def _values_written(self, args: Any, caller: Caller) -> list[TensorBase]:
        """Return the other operands of a write; a tensor made of the number in ``t[i] = 0.0`` is not the user's."""
        known = self.watching.sink.tensors.known
        given = [a for a in args[1:] if isinstance(a, TensorBase)]
        return [a for a in given if caller.function != "setitem" or requires_grad(a) or known(a) is not None]

    def _written_tensor(self, t: TensorBase, caller: Caller) -> TensorBase:
        """Return the tensor that the user's line writes to: for ``t[i] = v`` not the temporary view."""
        whole, self._describer.pending.whole = self._describer.pending.whole, None
        if whole is None or caller.function != "setitem":
            return t
        held = whole()
        return held if held is not None and memory_of(held._array) is memory_of(t._array) else t

    def _through(self, number: int, t: TensorBase) -> str:
        """Return how a write reaches the memory."""
        table = self.watching.sink.tensors
        seen: int | None = number
        while seen is not None:
            if seen in self._describer.aliases:
                return self._describer.aliases[seen]
            seen = table.view_of(seen)
        return "view" if t._meta is not None and t._meta.view is not None else ""

    def _note_gradient(self, event: Event, t: TensorBase) -> None:
        """Note a write that leaves a leaf's ``.grad``, or an alias of all of it, zero: it has cleared it."""
        known, data = self.watching.gradients, event.data
        leaf = known.leaf_of(data["target"], self.watching.memory(t), t._array.size) if known.leaves else None
        if leaf is not None:
            data["gradient_of"] = leaf
            if data["range"] == [[0.0, 0.0]]:
                run = self.watching.run_number
                self.watching.send(leaf_event(event.op, "grad-zeroed", leaf, event.source, data["stack"], run))


def _overlaps(array: Any) -> bool:
    return any(stride == 0 and size > 1 for size, stride in zip(array.shape, array.strides, strict=True))
