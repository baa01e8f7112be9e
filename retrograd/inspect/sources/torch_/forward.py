"""Writes calls of PyTorch functions into one recording: operations, in-place writes, cuts, reads, changed leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...event_data import OperationData, Stack
from ...events import Event
from ...program.spelling import UNKNOWN, Spelling, spelling_at
from ...program.stacks import stack_of
from ...snapshot import SourceLine
from ..base import Sink
from ..origins import Marks
from .calls import Call, version_of
from .facts import arguments_of, duplicates_in, overlaps, reads_values
from .hooks import Hooks
from .names import assigned, forms_match, spelled
from .ranges import Ranges
from .rules import COPIED_INDEXED, IN_PLACE_INDEXED, NONDIFFERENTIABLE_CASTS
from .saved import SavedSizes, saves_of
from .shared import SharedMemory
from .tensors import memory_of, number_of
from .values import Readable


class Inside:
    """What one thread is in the middle of."""

    def __init__(self) -> None:
        self.run: int | None = None
        """Backward run."""
        self.functions = 0
        """Custom Functions whose forward runs."""
        self.optimizer = False
        """An optimizer that steps: what it calls is not listened to."""


class ForwardWriter:
    """The listener of one recording at level ``full``."""

    def __init__(self, sink: Sink, marks_here: Callable[[], Marks], inside_here: Callable[[], Inside]) -> None:
        torch: Any = sys.modules["torch"]
        self.sink = sink
        self.table = sink.tensors
        self.saved = SavedSizes()
        self._marks = marks_here
        self._inside = inside_here
        self._tensor: type = torch.Tensor
        self._parameter: type = torch.nn.Parameter
        self._readable = Readable()
        self._ranges = Ranges(self._readable)
        self.shared = SharedMemory(sink, self._readable)
        self.hooks = Hooks(sink, lambda: inside_here().run)
        self._through: dict[int, str] = {}
        """Number of a tensor that shares memory behind the version counter's back -> how it came to be."""
        self.gradients: dict[int, int] = {}
        """Number of a gradient -> its leaf."""
        self._lines: dict[tuple[int, int], SourceLine] = {}

    def listens(self) -> bool:
        """Whether calls are taken at this moment: those of optimizers are not."""
        return not self._inside().optimizer and self.sink.wants()

    def __call__(self, call: Call) -> None:
        """Take one call."""
        if not self.listens():
            return
        inside, kind = self._inside(), call.rule.kind
        if kind == "hook":
            self._hook(call)
        elif kind == "read":
            self._read(call)
        elif kind == "leaf":
            self._leaf(call)
        else:
            self._operation(call, inside)

    def close(self) -> None:
        """Leave the program as it was."""
        self.hooks.close()

    def _hook(self, call: Call) -> None:
        """Note a hook that was registered."""
        if call.error is None and call.inputs:
            line = self._line(call.frame)
            number = number_of(self.table, call.inputs[0], spelled(call, self._spelling(call))[0], source=line)
            self.hooks.registered(call.rule.reason, call.inputs[0], number, call.result, line)

    # -- operations
    def _operation(self, call: Call, inside: Inside) -> None:
        """Write the event of a call that computes, writes in place or leaves the graph."""
        outputs = call.outputs(self._tensor)
        written = call.written()
        reason = self._reason(call, outputs, inside)
        if not outputs and not written and call.error is None and call.rule.kind != "cut":
            return
        spelling = self._spelling(call)
        line = self._line(call.frame)
        data = OperationData(grad=call.grad)
        data["names"] = spelled(call, spelling)
        data["inputs"] = [
            number_of(self.table, tensor, name, source=line)
            for tensor, name in zip(call.inputs, data["names"], strict=True)
        ]
        self._add_circumstances(data, call, inside)
        if call.rule.op in COPIED_INDEXED:
            repeated = duplicates_in(call, self._readable)
            if repeated:
                data["duplicates"] = repeated
        kind = "operation"
        if reason:
            kind, data["reason"], data["stack"] = "cut", reason, self._stack(call)
        elif line is not None and line.function != "<module>":
            data["stack"] = self._stack(call)
        if written and not reason:
            kind = "inplace"
            self._add_write(data, call, written[0])
        self._add_outputs(data, call, outputs, spelling, line)
        event = Event(kind, op=call.rule.op, source=line, data=data)  # type: ignore[arg-type]
        self._ranges.heard(call, bool(written))
        reads_values(data, call, outputs, self._readable, self._ranges)
        row = self.sink(event)
        if call.rule.reason == "numpy":
            self.shared.hands_out(call.result, call.frame)
        self._made(data, call.rule.reason, row)
        if written:
            self._write_beside(data, call, written[kind == "inplace" :], line)

    def _add_circumstances(self, data: OperationData, call: Call, inside: Inside) -> None:
        """Add what was in force around the call, and what it was told."""
        plain = arguments_of(call)
        if plain:
            data["arguments"] = plain
        if call.inference:
            data["inference"] = True
        if call.error is not None:
            data["error"] = f"{type(call.error).__name__}: {call.error}"
        marks = self._marks()
        if marks.scope:
            data["scope"] = marks.scope
        if inside.run is not None:
            data["run"] = inside.run
        if call.after > call.before:
            data["nodes"] = [call.before - marks.begin, call.after - marks.begin]

    def _add_write(self, data: OperationData, call: Call, place: int) -> None:
        """Add what an in-place write hit."""
        target = call.inputs[place]
        number = data["target"] = data["inputs"][place]
        data["version"] = [call.versions[place], version_of(target)]
        data["through"] = self._way(call, place, number)
        data["stack"] = self._stack(call)
        if overlaps(target):
            data["overlap"] = True
        if call.rule.op in IN_PLACE_INDEXED:
            repeated = duplicates_in(call, self._readable)
            if repeated:
                data["duplicates"] = repeated
        leaf = self.gradients.get(number)
        if leaf is not None and call.rule.op in ("zero_", "fill_"):
            self._change(leaf, "grad-zeroed", call)

    def _way(self, call: Call, place: int, number: int) -> str:
        """Return how a write reached the memory."""
        if call.places[place][0] == "out":
            return "out"
        way = self._through.get(number, "")
        return way or ("view" if self.table[number].view_of is not None else "")

    def _write_beside(self, data: OperationData, call: Call, written: list[int], line: SourceLine | None) -> None:
        """Report what a call wrote to besides its result: running statistics, lists of tensors."""
        hit = {self.table[data["target"]].storage} if "target" in data else set()
        for place in written:
            number = data["inputs"][place]
            memory = self.table[number].storage
            if memory in hit:  # a view of what is known to be written
                continue
            hit.add(memory)
            beside = OperationData(inputs=[number], names=[data["names"][place]], outputs=[], grad=call.grad)
            self._add_write(beside, _only(call, place), 0)
            self.sink(Event("inplace", op=call.rule.op, source=line, data=beside))  # type: ignore[arg-type]

    def _add_outputs(
        self, data: OperationData, call: Call, outputs: list[Any], spelling: Spelling, line: SourceLine | None
    ) -> None:
        """Number the results and note what is kept for backward."""
        names = data["output_names"] = assigned(call, spelling, outputs)
        data["outputs"] = [
            number_of(self.table, tensor, name, source=line) for tensor, name in zip(outputs, names, strict=True)
        ]
        if call.after > call.before and outputs:
            kept = saves_of(call, outputs, self._marks().begin, self.saved)
            if kept:
                tensors = [*call.inputs, *outputs]
                for place in kept:
                    self.shared.keeps(tensors[place], call.frame)
                numbers = [*data["inputs"], *data["outputs"]]
                data["saves"] = sorted({numbers[place] for place in kept})

    def _made(self, data: OperationData, way: str, row: int) -> None:
        """Let new results know the event that made them, and what they share memory with."""
        known = set(data["inputs"])
        for number in data["outputs"]:
            facts = self.table[number]
            if facts.made_by is None and number not in known:
                facts.made_by = row
            if way in ("data", "detach") and data["inputs"]:
                facts.view_of = data["inputs"][0]
                self._through[number] = way
            elif facts.view_of is None and data["inputs"] and number not in known:
                self._follow(number, data["inputs"][0])

    def _follow(self, number: int, first: int) -> None:
        """A view of a tensor that shares memory unseen shares it, too."""
        facts, source = self.table[number], self.table[first]
        if facts.storage is not None and facts.storage == source.storage:
            facts.view_of = first
            if first in self._through:
                self._through[number] = self._through[first]

    # -- cuts
    def _reason(self, call: Call, outputs: list[Any], inside: Inside) -> str:
        """Return why the results have no history although an input has one; "" if they have, or none had."""
        if not any(call.required) or inside.functions or (inside.run is not None and not call.grad):
            return ""
        if any(tensor.requires_grad for tensor in outputs):
            return ""
        if call.rule.kind == "cut":
            return call.rule.reason
        if not outputs or call.written():
            return ""
        if call.inference:
            return "inference"
        if not call.grad:
            return "no_grad"
        return "integer" if call.rule.op in NONDIFFERENTIABLE_CASTS else "nondifferentiable"

    # -- leaves
    def _read(self, call: Call) -> None:
        """Note a look at ``.grad`` that finds nothing, or that of a tensor which is no leaf."""
        tensor = call.inputs[0]
        found = call.result
        if found is not None:
            if not isinstance(found, self._tensor):
                return
            number = number_of(self.table, tensor, spelled(call, self._spelling(call))[0])
            leaf = self.table[number].name
            self.gradients[number_of(self.table, found, f"{leaf}.grad" if leaf else "")] = number
            if tensor.is_leaf:
                return
        elif not call.direct:
            return
        self._report_leaf("read", call, {"leaf": tensor.is_leaf, "retains_grad": tensor.retains_grad})

    def _leaf(self, call: Call) -> None:
        """Note that a leaf was changed."""
        change = call.rule.reason
        if call.error is not None and not call.inputs:
            return
        more: dict[str, Any] = {}
        if change == "requires_grad":
            value = call.args[1] if len(call.args) > 1 else call.kwargs.get("requires_grad", True)
            more["value"] = bool(value)
            if value and call.error is None:  # a leaf from now on, whatever it was when first seen
                self.table[number_of(self.table, call.inputs[0])].requires_grad = True
        elif change == "grad-set":
            given = call.args[1] if len(call.args) > 1 else None
            change = "grad-cleared" if given is None else "grad-set"
            if isinstance(given, self._tensor):
                array = self._readable.array(given) if self._readable.now() else None
                change = "grad-zeroed" if array is not None and not array.any() else change
                self.gradients[number_of(self.table, given)] = number_of(self.table, call.inputs[0])
        elif change == "written" and len(call.args) > 1:
            more["given"] = number_of(self.table, call.args[1])
            if call.error is None:
                self.table.moved(call.inputs[0], memory_of(call.inputs[0]))
        self._report_leaf("leaf", call, {"change": change, **more})

    def _report_leaf(self, kind: str, call: Call, more: dict[str, Any]) -> None:
        """Report what happened to the first argument."""
        line = self._line(call.frame)
        name = spelled(call, self._spelling(call))[0]
        data = {"tensor": number_of(self.table, call.inputs[0], name, source=line), "names": [name], **more}
        data["stack"] = self._stack(call)
        if call.error is not None:
            data["error"] = f"{type(call.error).__name__}: {call.error}"
        self.sink(Event(kind, op=call.rule.op, source=line, data=data))

    def _change(self, leaf: int, change: str, call: Call) -> None:
        data = {"tensor": leaf, "change": change, "stack": self._stack(call)}
        self.sink(Event("leaf", op=call.rule.op, source=self._line(call.frame), data=data))

    # -- places
    def _spelling(self, call: Call) -> Spelling:
        """Return how the user's line spells the call; a line of which a library made it does not."""
        spelling = spelling_at(call.frame)
        return spelling if call.direct or forms_match(call.rule.op, spelling.form) else UNKNOWN

    def _line(self, frame: FrameType | None) -> SourceLine | None:
        if frame is None:
            return None
        code = frame.f_code
        key = (id(code), frame.f_lasti)
        line = self._lines.get(key)
        if line is None or line.file != code.co_filename:
            line = self._lines[key] = SourceLine(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name)
        return line

    def _stack(self, call: Call) -> list[Stack]:
        settled = call.settled
        if settled is None:
            return stack_of(call.frame)
        if settled.stack is None:
            settled.stack = stack_of(settled.frame)
        return settled.stack


def _only(call: Call, place: int) -> Call:
    """Return the call as if it had that one input only."""
    one = Call(call.rule, call.args, call.kwargs)
    one.inputs, one.places = [call.inputs[place]], [call.places[place]]
    one.versions, one.frame, one.settled = [call.versions[place]], call.frame, call.settled
    return one
