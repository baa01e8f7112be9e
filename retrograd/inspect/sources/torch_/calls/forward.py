"""Writes calls of PyTorch functions into one recording: operations, in-place writes, cuts, reads, changed leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from .....interpreter import getframe
from ....operators import Trait
from ....program.frames import source_line
from ....program.modules import called_in_evaluation
from ....program.places import SourceLine
from ....recording.events import Event, Facts
from ...base import Sink
from ...call_data import Surroundings, worthy
from ...grad_switches import Modes
from ...step_effects import is_zero
from ...writers.leaves import Gradients, leaf_event, read_event
from ..library import LIBRARY
from ..objects.hooks import Hooks
from ..objects.memory_writes import SharedMemory
from ..objects.modes import hear, levels_now, switches_of, transforms_of
from ..values.allocations import Allocations
from ..values.ranges import Ranges
from ..values.readbacks import READBACKS, ZEROS
from ..values.values import Readable
from .call_facts import CallNotes
from .call_sites import Site, Sites
from .calls import Call, Inside, version_of
from .facts import add_entered, duplicates_in, measured, overlaps
from .names import assigned
from .rules import INDEXED_WRITES
from .saved import MAX_OWN, Kept, saves_of
from .saved_sizes import MOST_FRESH, SavedSizes
from .tensors import Alike, fresh_result, number_new, number_of, part_of
from .usual_calls import UsualCalls

_NONE: tuple[Any, ...] = ()
_requires_grad = attrgetter("requires_grad")


class ForwardWriter:
    """The listener of one recording at level ``full``."""

    def __init__(self, sink: Sink, inside_here: Callable[[], Inside]) -> None:
        torch: Any = LIBRARY.torch
        self.sink = sink
        self.table = sink.tensors
        self.saved = SavedSizes()
        self._inside = inside_here
        self._tensor: type = torch.Tensor
        self._parameter: type = torch.nn.Parameter
        self._readable = Readable()
        self._ranges = Ranges(self._readable, self.table, sink.missed)
        self._allocations = Allocations(self.table, self._readable)
        self.shared = SharedMemory(sink, self._readable, lambda: inside_here().steps)
        self.hooks = Hooks(sink, lambda: inside_here().run, self._readable)
        self._sites = Sites(sink.mention)
        self._notes = CallNotes(sink, self._sites.all, self.table.lent.ways)
        self._usual = UsualCalls(sink, self._sites, self._ranges, self._allocations, self.saved, self._notes)
        self.switches = switches_of(sink)
        self._transforms = transforms_of(sink)
        self._latest_around: Surroundings = (True, False, "", None, None)
        self.gradients = Gradients(self.table)

    def listens(self) -> bool:
        """Whether calls are recorded now: those of optimizers are not."""
        return not self._inside().optimizer and self.sink.wants()

    def __call__(self, call: Call, inside: Inside) -> None:
        """Record one call."""
        if inside.optimizer or not self.sink.wants():
            return
        kind = call.rule.kind
        if kind in ("operation", "cut"):
            try:
                self._operation(call, inside)
            except BaseException:
                self.table.fill()  # a row may wait for a note that never came
                raise
        elif kind == "hook":
            self._hook(call)
        elif kind == "read":
            self._read(call)
        elif kind == "leaf":
            self._leaf(call)
        elif kind == "switch":
            hear(self.switches, call)

    def received(self, numbers: Sequence[int], tensors: Sequence[Any]) -> None:
        """Note tensors that were written by other processes or through their storages, without a new version."""
        self._ranges.forget_all(numbers)
        self._allocations.received(numbers, tensors)
        if lent := self.table.lent.storages:
            self.shared.written(lent.intersection(map(self.table.memory_of, numbers)))

    def close(self) -> None:
        """Restore the program's hooks."""
        self.hooks.close()

    def _hook(self, call: Call) -> None:
        """Record a hook that was registered."""
        if call.error is None and call.inputs:
            site = self._sites.at(call)
            number = number_of(self.table, call.inputs[0], site.names(call)[0], source=site.line)
            self.hooks.registered(call.rule.reason, call.inputs[0], number, call.result, site.line)

    # -- operations
    def _operation(self, call: Call, inside: Inside) -> None:
        """Record a call that computes, writes in place or leaves the graph."""
        usual = self._usual
        if type(call.result) is self._tensor and usual.record(call, inside.run, self._transforms, self._note_sizes):
            return
        outputs, written = call.outputs(self._tensor), call.written()
        if not outputs and not written and call.error is None and not call.rule.operator.is_a(Trait.READING):
            return
        site, known = self._sites.at(call), len(self.table)
        names = site.names(call)
        numbers = self._numbers(call.inputs, names, site.line)
        kind = "operation"
        more: dict[str, Any] = {}
        if (
            not site.usual
            or written
            or call.error is not None
            or (True in call.required and not any(map(_requires_grad, outputs)))
        ):
            kind = self._kind(call, outputs, written, numbers, inside, more)
        if len(self.table) > known:
            add_entered(more, call, numbers, known, self._readable)
        stack = self._notes.stack_number(call) if site.nested or kind != "operation" else -1
        results, alike = self._results(outputs, site)
        same = site.is_as_before(call)
        arguments = site.said if same else site.arguments(call)
        nodes, saves = self._nodes(call, site, outputs, numbers + results, same=same)
        if written or not site.harmless:
            self._ranges.forget(call.rule, [numbers[place] for place in written])
        if not site.usual or written:
            self._allocations.follow(call, numbers, written, outputs, results)
        near = alike is not None and alike.near
        measures = measured(call, numbers, outputs, results, more, self._ranges, self._allocations.hides, near)
        if "transformed" in more or self._transforms.open:
            self._transforms.look(levels_now(), getframe(1), call.frame)
        around = self._around(call, kind, call.marks.scope, inside.run)
        reported = results if outputs or kind != "inplace" else (numbers[written[0]],)
        self.sink.note(
            (self._notes.make, kind, site.number, around, numbers, names, arguments, nodes, reported,
             None if alike is None else alike.fresh, saves, measures, stack, more or None)
        )  # fmt: skip
        if call.rule.reason == "numpy" and call.inputs and call.error is None:
            self.shared.hands_out(call.inputs[0], call.rule.op, call.frame)
        if written:
            if lent := self.table.lent.storages:
                self.shared.written(lent.intersection(self.table.memory_of(numbers[one]) for one in written))
            self._write_beside(call, site, written, kind, numbers)

    def _kind(
        self,
        call: Call,
        outputs: list[Any],
        written: list[int],
        numbers: Sequence[int],
        inside: Inside,
        more: dict[str, Any],
    ) -> str:
        """Return the kind of event of a call, and data that few calls have."""
        kind = "operation"
        if True in call.required and (reason := self._reason(call, outputs, written, inside)):
            kind, more["reason"] = "cut", reason
        elif written:
            kind = "inplace"
            self._add_write(more, call, written[0], numbers)
        if call.error is not None:
            more["error"] = f"{type(call.error).__name__}: {call.error}"
        if call.rule.op in INDEXED_WRITES:
            self._add_duplicates(more, call)
        drops = call.rule.operator.is_a(Trait.DROPOUT) or call.kwargs.get("dropout_p")
        if drops and called_in_evaluation(getframe(1)):
            more["evaluating"] = True
        return kind

    def _nodes(
        self, call: Call, site: Site, outputs: list[Any], numbers: tuple[int, ...], *, same: bool
    ) -> tuple[tuple[int, int] | None, tuple[int, ...]]:
        """Return the nodes that a call made, and the tensors they save; ``numbers`` of inputs, then outputs."""
        if call.after <= call.before:
            return None, _NONE
        begin = call.marks.begin
        made = (call.before - begin, call.after - begin)
        if not outputs:
            return made, _NONE
        kept = saves_of(call, outputs[0], self.saved, site.kept, same=same)
        self._note_sizes(kept, call, outputs[0], made[0], numbers)
        return made, tuple(sorted({numbers[place] for place in kept.places}))

    def _numbers(self, tensors: Sequence[Any], names: Sequence[str], line: SourceLine | None) -> tuple[int, ...]:
        """Return the numbers of tensors; new ones get these names."""
        found = self.table.numbers(tensors)
        if None in found:
            for place, number in enumerate(found):
                if number is None:
                    found[place] = number_of(self.table, tensors[place], names[place], source=line)
        return tuple(found)  # type: ignore[arg-type]

    def _results(self, outputs: list[Any], site: Site) -> tuple[tuple[int, ...], Alike | None]:
        """Return the numbers of results, and what is known of a single new one that has no further facts."""
        if len(outputs) != 1:
            return self._numbers(outputs, assigned(site.spelling, len(outputs)), site.line), None
        result, table = outputs[0], self.table
        number = table.known(result)
        if number is not None:
            return (number,), None
        found = fresh_result(table, result) if type(result) is self._tensor else None
        if found is not None:
            return (table.reserve(result, found[0])[0],), found[1]
        return (number_new(table, result, site.target[0], source=site.line),), None

    def _around(self, call: Call, kind: str, scope: str, run: int | None) -> Surroundings:
        """Return the surroundings of a call, mostly the same object as at the previous call."""
        usual = call.grad and not call.inference
        switch = None if usual else self.switches.in_force(Modes(call.grad, call.inference), cut=kind == "cut")
        found = (call.grad, call.inference, scope, run, switch)
        if found != self._latest_around:
            self._latest_around = found
        return self._latest_around

    def _add_write(self, more: dict[str, Any], call: Call, place: int, numbers: Sequence[int]) -> None:
        """Add the target of an in-place write."""
        target = call.inputs[place]
        number = more["target"] = numbers[place]
        more["version"] = [call.versions[place], version_of(target)]
        if call.places[place][0] == "out":
            more["through"] = "out"
        if overlaps(target):
            more["overlap"] = True
        if call.rule.op == "setitem" and (part := part_of(target)) and (written := part.at(call.args[1])):
            more["part"] = [[written.offset], list(written.sizes), list(written.strides)]
        known = self.gradients
        leaf = known.leaf_of(number, self.table.memory_of(number), target.numel()) if known.leaves else None
        if leaf is not None:
            more["gradient_of"] = leaf
            far = self._readable.is_far(target)
            if call.rule.operator.is_a(Trait.CLEARING) if far else self._is_zero(target):
                line, run = source_line(call.frame), self._inside().run
                self.sink(leaf_event(call.rule.op, "grad-zeroed", leaf, line, call.stack(), run))

    def _is_zero(self, tensor: Any) -> bool:
        """Whether all entries of a tensor are zero, if they can be read."""
        array = self._readable.gradient(tensor) if self._readable.now() else None
        return array is not None and is_zero(array)

    def _has_gradient(self, leaf: int, gradient: Any, name: str = "") -> None:
        """Note which tensor a leaf's ``.grad`` is."""
        number = number_of(self.table, gradient, name)
        self.gradients.belongs(number, self.table.memory_of(number), gradient.numel(), leaf)

    def _add_duplicates(self, more: dict[str, Any], call: Call) -> None:
        """Add how many elements an indexed write hits more than once."""
        repeated = duplicates_in(call, self._readable)
        if repeated:
            more["duplicates"] = repeated

    def _write_beside(self, call: Call, site: Site, written: list[int], kind: str, numbers: Sequence[int]) -> None:
        """Record what a call wrote to besides its result: running statistics, lists of tensors."""
        memory_of, names = self.table.memory_of, site.names(call)
        hit = {memory_of(numbers[written[0]])} if kind == "inplace" else set()
        for place in written[kind == "inplace" :]:
            memory = memory_of(numbers[place])
            if memory in hit:  # a view of what is known to be written
                continue
            hit.add(memory)
            more: dict[str, Any] = {}
            self._add_write(more, call, place, numbers)
            stack = self._notes.stack_number(call)
            self.sink.note(
                (self._notes.make, "inplace", site.number, (call.grad, False, "", None, None), (numbers[place],),
                 (names[place],), None, None, (numbers[place],), None, _NONE, _NONE, stack, more)
            )  # fmt: skip

    def _note_sizes(self, kept: Kept, call: Call, result: Any, first: int, numbers: Sequence[int]) -> None:
        """Note the size of what nodes save, from ``first`` on; ``numbers`` of inputs, then outputs."""
        places, tensors, results = kept
        fresh, memory_of = self.saved.fresh, self.table.memory_of
        for node, own, size in results:  # memory that nobody else has: counted downwards
            fresh.extend((first + node, -1 - own - first * MAX_OWN, size))
        if len(fresh) > MOST_FRESH:
            self.saved.take_up()
        if not places:
            return
        operands = (*call.inputs, result)
        for node, place in tensors:
            memory = memory_of(numbers[place])
            if memory is not None:  # a sparse tensor has none, and no size in bytes
                fresh.extend((first + node, memory, operands[place].nbytes))
        lent = self.table.lent.storages
        for place in places if lent else ():
            memory = memory_of(numbers[place])
            if memory in lent:
                self.shared.keeps(operands[place], numbers[place], memory, call.frame)

    # -- cuts
    def _reason(self, call: Call, outputs: list[Any], written: list[int], inside: Inside) -> str:
        """Return why the results have no history although an input has one; "" if they have."""
        for tensor in outputs:
            if tensor.requires_grad:
                return ""
        if inside.functions or (inside.run is not None and not call.grad):
            return ""
        if call.rule.kind == "cut":
            return call.rule.reason
        if not outputs or written:
            return ""
        if call.inference:
            return "inference"
        if not call.grad:
            return "no_grad"
        return "integer" if call.rule.operator.is_a(Trait.CAST) else "nondifferentiable"

    # -- leaves
    def _read(self, call: Call) -> None:
        """Record a read of ``.grad`` that returns None, or of a tensor that is not a leaf."""
        tensor, found = call.inputs[0], call.result
        if found is not None:
            if not isinstance(found, self._tensor):
                return
            number = number_of(self.table, tensor, self._sites.at(call).names(call)[0])
            leaf = self.table.entered(number).name
            self._has_gradient(number, found, f"{leaf}.grad" if leaf else "")
            if tensor.is_leaf:
                return
        elif not call.direct:
            return
        line, number, names = self._named(call)
        self.sink(read_event(tensor, number, line, self._inside().run, names))

    def _leaf(self, call: Call) -> None:
        """Record that a leaf was changed."""
        change = call.rule.reason
        if call.error is not None and not call.inputs:
            return
        line, number, names = self._named(call)
        more, zeros = dict[str, Any](), None
        if change == "requires_grad":
            value = call.args[1] if len(call.args) > 1 else call.kwargs.get("requires_grad", True)
            more["value"] = bool(value)
            if value and call.error is None:
                self.table.requires_grad(number)
        elif change == "grad-set":
            given = call.args[1] if len(call.args) > 1 else None
            change = "grad-cleared" if given is None else "grad-set"
            if isinstance(given, self._tensor):
                if self._readable.is_far(given):
                    zeros = READBACKS.ask(given, ZEROS)
                change = "grad-zeroed" if self._is_zero(given) else change
                self._has_gradient(number, given)
                more["given"] = number_of(self.table, given)
        elif change == "written" and len(call.args) > 1:
            more["given"] = number_of(self.table, call.args[1])
        if call.error is not None:
            more["error"] = f"{type(call.error).__name__}: {call.error}"
        event = leaf_event(call.rule.op, change, number, line, call.stack(), self._inside().run, names, **more)
        if zeros is not None:
            event = Event.later("leaf", event.op, line, _gradient_given, (event.data, zeros))
        self.sink(event)

    def _named(self, call: Call) -> tuple[SourceLine | None, int, list[str]]:
        """Return the line of a call, and number and name of its first argument."""
        site = self._sites.at(call)
        name = site.names(call)[0] if call.direct else ""  # what a module does to its parameters has no words there
        number = number_of(self.table, call.inputs[0], name, source=site.line)
        facts = self.table.entered(number)
        facts.name = facts.name or worthy(name)
        return site.line, number, [name]


def _gradient_given(facts: Facts) -> dict[str, Any]:
    """Return the data of a leaf whose ``.grad`` was assigned on another device; if all zeros, it was cleared."""
    data, zeros = facts
    return {**data, "change": "grad-zeroed"} if zeros["zeros"] == zeros.size else data
