"""Observes every operator call: its operands and results, what was saved, what left the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from math import isfinite
from operator import is_
from types import FrameType
from typing import Any

import numpy as np

from .....engine.aliasing.views import requires_grad
from .....engine.core.base import TensorBase
from .....engine.switches.state import STATE
from .....interpreter import getframe
from ....operators import Trait, canonical
from ....program.frames import source_line
from ....program.modules import called_in_evaluation
from ....program.stacks import stack_of
from ....recording.events import called
from ....recording.tensor_table import TensorTable
from ....references import Reference
from ... import array_values as values
from ...call_data import Measured
from ..backward.facts import memory_of
from ..backward.lines import LINES
from ..objects.modes import levels_now, transforms_of
from ..objects.shared import SharedMemory
from ..watching import Observer, ThreadState, Watching, guarded, report_problem
from .call_describer import UNREAD, CallDescriber
from .call_facts import event_of_call
from .call_plans import Plan, plan_of
from .call_sites import Site
from .caller import caller_of, spelled
from .lost_writes import lost_writes
from .names import fitting
from .saved import saved_numbers, saved_positions

_LATEST = 500
"""Tensors searched for the owner of an index array, which is mostly recent."""


def index_tensors(args: Iterable[Any], table: TensorTable) -> Iterator[int]:
    """Yield the numbers of tensors among the arguments of an operator, and of those whose arrays are among them."""
    for part in args:
        if isinstance(part, TensorBase):
            number = table.known(part)
        elif isinstance(part, tuple):
            yield from index_tensors(part, table)
            continue
        else:
            number = _owner(part, table) if isinstance(part, np.ndarray) and part.ndim else None
        if number is not None:
            yield number


def _owner(array: Any, table: TensorTable) -> int | None:
    """Return the youngest tensor that lies in the memory of an array."""
    while array.base.__class__ is np.ndarray:
        array = array.base
    storage = table.memory(array)
    if storage is None:
        return None
    rows = range(len(table) - 1, max(len(table) - _LATEST, 0) - 1, -1)
    return next((row for row in rows if table[row].storage == storage), None)


_PLAIN = frozenset({int, float, bool, str, type(None)})
"""Types of arguments that contain no tensors."""
_NONE: tuple[int, ...] = ()
_ASKED_FOR = ("copy", "dlpack")
"""Cuts that are functions themselves."""
_MADE = 64
"""Results after which a call of the user counts as a new one: a loop returns to the same position."""


class Calls(Observer):
    """Sends ``operation`` and ``cut``."""

    def __init__(self, watching: Watching, describer: CallDescriber, shared: SharedMemory) -> None:
        super().__init__(watching)
        self._describer = describer
        self._shared = shared
        self._transforms = transforms_of(watching.sink)

    # -- operations
    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any, took: int) -> None:
        """Note that an operator ran; like ``guarded`` methods, except that lines are followed on any thread."""
        frame = getframe(2)  # skips this frame and the caller
        watching = self.watching
        here = watching.local.state
        latest = here.plan
        plan = user = None
        if latest is not None and not here.suppressed:
            plan = latest.next
            if plan is None or plan.op is not op or (user := plan.user(frame)) is None:
                plan, user = latest.foresee_other(frame, op)
        if plan is None or user is None:
            caller = caller_of(frame)
            user = caller.frame
            LINES.follow(node, user, frame, caller.function or spelled(op.name))
            if here.suppressed or user is None or caller.internal:
                return
        else:
            LINES.follow_planned(node, plan, user, frame)
        if not watching.sink.wants():
            return
        here.suppressed = True
        try:
            plan = plan or plan_of(self._describer.sites.at(caller, op), op, frame, user)
            if latest is not None and latest.next is not plan:
                latest.comes_before(plan)
            here.plan = plan
            if plan.begins_write:
                pending = self._describer.pending
                pending.whole = pending.whole or Reference(inputs[0])
            else:
                self._note_call(here, plan, user, args, node, inputs, outputs, took)
        except BaseException as failure:  # never the program's business
            report_problem(watching, failure)
        finally:
            here.suppressed = here.quiet

    def _note_call(
        self, here: ThreadState, plan: Plan, user: FrameType, args: Any, node: Any, inputs: Any, outputs: Any, took: int
    ) -> None:
        """Note what must be read while the tensors live; ``event_of_call`` makes the event."""
        describer, sink, site, out = self._describer, self.watching.sink, plan.site, outputs[0]
        call_at = (id(user), plan.instruction)
        if here.call_at != call_at or len(here.made) > _MADE:
            here.call_at, here.made = call_at, []
        made = here.made
        within = tuple(made) if site.several and made else _NONE
        more: dict[str, Any] = {}
        tensors = sink.tensors
        numbers: Any = tensors.numbers(inputs)
        if None in numbers:
            describer.number_new(site.texts, inputs, numbers, within, site.line, more)
        arguments = None
        if len(args) != len(inputs) or plan.op.lists:  # not all arguments are operands
            seen, arguments = site.others
            if len(args) != len(inputs) + len(seen) or not all(map(is_, args, (*inputs, *seen))):
                arguments, indices = self._other_arguments(site, plan.op, args, inputs)
                numbers += [number for number in indices if number not in numbers]
            if site.may_lose and (lost := lost_writes(plan.op, args)):
                more["duplicates"] = lost
        results: Any
        others: Any = _NONE
        if node is not None and out._fn is node and out._meta is None and len(outputs) == 1:
            memory, fresh = out._array, out._sig
            results, storage = tensors.reserve(out, memory if memory.base is None else memory_of(memory))
            made.append(results)
        else:
            results = describer.numbers_of_results(outputs, fitting(site.targets, outputs), site.line)
            storage, fresh, others = -1, None, [values.range_and_sum(t._array) for t in outputs[1:]]
            made += results
        limits, total = self._figures(out, whole=sink.figures.whole or site.ranged)
        if site.may_have_pole or (limits and site.may_be_flat) or others or (total is not None and not isfinite(total)):
            ranges = [limits, *[limits for limits, _ in others]]
            describer.note_values(more, site, plan.op, args, inputs, outputs, ranges)
        self._look_for_transforms(user)
        if site.operator.is_a(Trait.DROPOUT) and called_in_evaluation(user):
            more["evaluating"] = True
        kind, place, saves, stack = "operation", None, _NONE, plan.stack
        if node is not None:
            place, saves = node._number - self.watching.begin, saved_positions(node, inputs)
            if saves and self._shared.memories:
                kept = saved_numbers(saves, numbers, results if fresh is None else [results])
                self._shared.keeps(kept, [*inputs, *outputs], user)
        elif reason := self._reason(site, inputs, outputs):
            kind, more["reason"], stack = "cut", reason, stack_of(user)
        sink.note(
            (event_of_call, kind, site, describer.around(here, kind), tuple(numbers), len(inputs), within, arguments,
             results, fresh, storage, limits, total, others, took, place, saves, stack, more or None)
        )  # fmt: skip

    def _look_for_transforms(self, user: FrameType) -> None:
        """Send the transforms that a call is the first inside."""
        if STATE.transforms or self._transforms.open:
            self._transforms.look(levels_now(), getframe(2), user)

    def _figures(self, out: TensorBase, *, whole: bool) -> Measured:
        """Return range and sum of a result, the sum alone if that suffices; nothing of uninitialised memory."""
        if self._describer.allocations.hides(out):
            return UNREAD
        total = None if whole else values.sum_of_ordinary(out._array)
        return values.range_and_sum(out._array) if total is None else (None, total)

    def _other_arguments(
        self, site: Site, op: Any, args: Any, inputs: Any
    ) -> tuple[dict[str, Any] | None, Iterable[int]]:
        """Return plain arguments that are not operands, and the numbers of tensors among them."""
        arguments = self._describer.arguments(op, args)
        rest = args[len(inputs) :]
        if all(map(is_, args, inputs)) and _PLAIN.issuperset(map(type, rest)):
            site.others = (rest, arguments)
        if _alone(args, inputs):
            return arguments, ()
        return arguments, dict.fromkeys(index_tensors(args, self.watching.sink.tensors))

    @guarded
    def created(self, t: TensorBase) -> None:
        """Note that a tensor was made from nothing, or from numbers."""
        self._made(t)

    @guarded
    def allocated(self, t: TensorBase) -> None:
        """Note that a tensor was made in uninitialised memory."""
        self._made(t, unwritten=True)

    def _made(self, t: TensorBase, *, unwritten: bool = False) -> None:
        caller = self._describer.caller()
        if caller is None:
            return
        line = source_line(caller.frame)
        data = self._describer.given([], [], line)
        describer = self._describer
        shared = self.watching.sink.tensors.memory(memory_of(t._array)) is not None
        data["outputs"] = describer.numbers_of_results([t], names := describer.names.of_outputs(caller, [t]), line)
        data["output_names"] = names
        if shared:  # of an array that a tensor gave
            describer.aliases[data["outputs"][0]] = "numpy"
        if unwritten:
            describer.allocations.allocated(t)
        describer.measure(data, [t])
        describer.judge(data, data["range"], "", [t])
        name = caller.function or self._describer.names.form(caller) or "tensor"
        self._shared.comes_in(name, t)
        self._describer.send(called("operation", name, line, data), (), data["outputs"])

    @guarded
    def copied(self, given: Any, t: TensorBase) -> None:
        """Note that a tensor was made of other tensors' values."""
        for source in [given] if isinstance(given, TensorBase) else _tensors_within(given):
            if requires_grad(source) or (t._meta is not None and t._meta.is_parameter):
                self._cut("copy", source, t)

    # -- the way out
    @guarded
    def compared(self, name: str, t: TensorBase, other: TensorBase) -> None:
        """Note that two tensors were compared as wholes."""
        caller = self._describer.caller()
        if caller is None or caller.function not in ("", name):  # a function of ours compares for itself
            return
        line, texts = source_line(caller.frame), self._describer.names.texts(caller)
        data = self._describer.given([t, other], texts, line)
        self._describer.results(data, [], [], line)
        self._describer.send(called("operation", name, line, data), texts, [])

    @guarded
    def cut(self, reason: str, t: TensorBase, result: Any) -> None:
        """Note that a value was taken out of the graph."""
        self._cut(reason.rstrip("_"), t, result)

    def _cut(self, reason: str, t: TensorBase, result: Any) -> None:
        """Send a cut, or a plain operation if nothing was cut from a graph."""
        caller = self._describer.caller()
        if caller is None or (caller.function and reason not in _ASKED_FOR):  # a function of ours reads for itself
            return
        line = source_line(caller.frame)
        texts = self._describer.names.texts(caller)
        data = self._describer.given([t], texts, line)
        made = [result] if isinstance(result, TensorBase) and result is not t else []
        self._describer.results(data, made, self._describer.names.of_outputs(caller, made), line)
        if reason in ("data", "detach") and made:
            self._describer.aliases[data["outputs"][0]] = reason
            self.watching.sink.tensors.entered(data["outputs"][0]).view_of = data["inputs"][0]
        kind = "cut" if requires_grad(t) else "operation"
        if kind == "cut":
            data["reason"] = reason
            data["stack"] = self._describer.names.stack(caller.frame)
        form = self._describer.names.form(caller)
        if reason == "item" and canonical(f"__{form}__") == "item":
            data["written"] = form
            form = ""
        if reason == "copy":
            parameter = isinstance(result, TensorBase) and result._meta is not None and result._meta.is_parameter
            reason = "Parameter" if parameter else form or reason
        self._describer.send(called(kind, reason, line, data), texts, data["outputs"])
        if reason in ("numpy", "dlpack"):
            self._shared.goes_out(t, data["inputs"][0], caller.frame)

    def _reason(self, site: Site, inputs: Any, outputs: Any) -> str:
        """Return why a call's results have no node; "" if none of the operands was in a graph."""
        here = self.watching.here
        if here.forwards or (here.runs and not STATE.grad_enabled) or not any(requires_grad(t) for t in inputs):
            return ""  # nor is anything cut by what a rule of a node computes
        if any(requires_grad(t) for t in outputs):  # a view of a leaf counts as the leaf, grad mode or not
            return ""
        if STATE.inference:
            return "inference"
        if not STATE.grad_enabled:
            return "no_grad"
        return "integer" if site.operator.is_a(Trait.CAST) else "nondifferentiable"


def _alone(args: Any, inputs: Any) -> bool:
    """Whether no tensor is among the arguments of an operator but its operands."""
    return all(value.__class__ in _PLAIN or any(map(is_, repeat(value), inputs)) for value in args)


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
