"""Describes operator calls for their events: the caller, names and numbers of the tensors, facts about values."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .....engine import observe
from .....engine.core.base import TensorBase
from .....engine.switches import state
from .....engine.switches.state import STATE
from .....engine.tensors.tensor import Tensor
from .....interpreter import getframe
from ....bounded import BoundedDict
from ....operators import Operator, Trait, operator
from ....program.places import SourceLine
from ....recording.events import Event
from ....recording.tensor_table import TensorTable
from ... import array_values as values
from ...call_data import Surroundings, described, worthy
from ...grad_switches import Modes
from ...unwritten import Span, Unwritten
from ..backward.facts import memory_of
from ..deferred_events import completed_event
from ..objects.modes import switches_of
from ..watching import ThreadState, Watching, version
from .call_sites import Site, Sites
from .caller import Caller, caller_of
from .names import Names, matched


class Allocations:
    """Uninitialised memory that one recording knows of."""

    def __init__(self, table: TensorTable) -> None:
        self._table = table
        self._unwritten = Unwritten()

    def __bool__(self) -> bool:
        """Whether there is any such memory."""
        return bool(self._unwritten)

    def allocated(self, t: TensorBase) -> None:
        """Note a numbered tensor in uninitialised memory."""
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is not None:
            self._unwritten.allocated(number, memory, _span(t._array, memory), version(t))

    def hides(self, t: TensorBase) -> bool:
        """Whether values of a tensor must not be read."""
        if not self._unwritten:
            return False
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is None or number not in self._unwritten:
            return False
        return self._unwritten.hides(number, _span(t._array, memory), version(t))

    def wrote(self, op: Any, args: Any) -> None:
        """Note that an operator wrote into its first argument."""
        if self._unwritten:
            index = () if not operator(op.name).is_a(Trait.INDEXING) else _index(args)
            self._wrote(args[0], version(args[0]), index)

    def writes(self, out: TensorBase) -> None:
        """Note that a result is about to be written into a tensor."""
        if self._unwritten:
            self._wrote(out, version(out) + 1, ())

    def _wrote(self, t: TensorBase, now: int, index: Any) -> None:
        memory = memory_of(t._array)
        number = self._table.memory(memory)
        if number is None or number not in self._unwritten:
            return
        try:
            self._unwritten.wrote(number, _span(t._array, memory), now, index)
        except (IndexError, TypeError):  # an index that NumPy does not know
            self._unwritten.wrote(number, _span(t._array, memory), now, None)


def _span(array: Any, memory: Any) -> Span:
    """Return the range of addresses of an array."""
    size = array.itemsize
    begin = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    strides = tuple(stride // size for stride in array.strides)
    return Span(memory.nbytes // size, size, begin // size, array.shape, strides)


def _index(args: Any) -> Any:
    """Return the index of an indexed write, as in NumPy; None if unknown."""
    given = args[1] if len(args) > 1 else None
    if not isinstance(given, (list, tuple)):
        return None
    parts = [slice(None) if one is None else np.asarray(getattr(one, "_array", one)) for one in given]
    return tuple(parts)


_PLAIN = (bool, int, float, str)
UNREAD = None, None
"""Range and sum of values that must not be read."""
_USUAL: Surroundings = (True, False, "", None, None)
_ORDINARY = Modes(grad=True, inference=False)
_SATURATED = 0.5
"""Share of flat entries above which a summary of the inputs is kept."""


class Pending(threading.local):
    """Unfinished calls of one thread."""

    write: Event | None = None
    """The current in-place write, sent already and completed when it is done."""
    whole: weakref.ref[Any] | None = None
    """The tensor of ``t[i] = v``, while the view to be written is made."""
    began = 0
    """When the current write began, in ns."""


class CallDescriber:
    """Describes calls for one watcher."""

    def __init__(self, watching: Watching) -> None:
        self.watching = watching
        self.names = Names(watching)
        self.sites = Sites(self.names, watching.sink.mention)
        self._around: Surroundings = _USUAL
        self.switches = switches_of(watching.sink)
        self.allocations = Allocations(watching.sink.tensors)
        self.aliases: dict[int, str] = {}
        """Number of a tensor that shares memory without its version counter -> how it was made: ``data`` or
        ``detach``."""
        self.pending = Pending()
        self._plain: BoundedDict[tuple[str, type, str], dict[str, Any]] = BoundedDict(50_000)

    def caller(self) -> Caller | None:
        """Return the caller, if it is to be recorded."""
        if not self.watching.sink.wants():
            return None
        caller = caller_of(getframe(4))  # skips this frame, its caller, the guard, and the engine's
        return None if caller.internal or caller.frame is None else caller

    def around(self, here: ThreadState, kind: str = "") -> Surroundings:
        """Return the modes and scope on this thread now."""
        if state.MODE == observe.COUNT and not here.scopes and not here.runs:  # no other mode is on in any thread
            return _USUAL
        inference, scopes, runs = STATE.inference, here.scopes, here.runs
        scope, run = scopes[-1] if scopes else "", runs[-1].number if runs else None
        modes = Modes(STATE.grad_enabled and not inference, inference)
        switch = None if modes == _ORDINARY else self.switches.in_force(modes, cut=kind == "cut")
        found = (*modes, scope, run, switch)
        latest = self._around  # read once: other threads set it, too
        if found == latest:  # mostly it is as at the call before, and one object
            return latest
        self._around = found
        return found

    def given(self, inputs: Any, texts: Sequence[str] | None, line: SourceLine | None) -> dict[str, Any]:
        """Return the data about inputs and surroundings of a call; names are added with the event."""
        more: dict[str, Any] = {}
        numbers: Any = self.watching.sink.tensors.numbers(inputs)
        if None in numbers:
            self.number_new(texts, inputs, numbers, (), line, more)
        return {"inputs": numbers, "names": [], **described(self.around(self.watching.here)), **more}

    def number_new(
        self,
        texts: Sequence[str] | None,
        inputs: Any,
        numbers: list[Any],
        within: Collection[int],
        line: SourceLine | None,
        more: dict[str, Any],
    ) -> None:
        """Number operands whose number is None; ``more`` collects values of those that are not finite."""
        names = matched(texts, numbers, within, self.watching.sink.tensors.rows)
        for place, text in enumerate(names):
            if numbers[place] is None:
                t = inputs[place]
                numbers[place] = self.watching.number(t, line, name=worthy(text))
                self.note_summary(more, t, only_bad=True)  # nobody saw it being made

    def results(self, data: dict[str, Any], outputs: Any, names: list[str], line: SourceLine | None) -> None:
        """Number the results of a call and note their names and values."""
        data["outputs"] = self.numbers_of_results(outputs, names, line)
        data["output_names"] = names
        self.measure(data, outputs)

    def numbers_of_results(self, outputs: Any, names: Sequence[str], line: SourceLine | None) -> list[int]:
        """Number the results of a call."""
        number = self.watching.number
        return [number(t, line, worthy(name)) for t, name in zip(outputs, names, strict=True)]

    def measure(self, data: dict[str, Any], outputs: Any) -> None:
        """Note range and sum of each result."""
        hidden = self.allocations.hides
        measured = [UNREAD if hidden(t) else values.range_and_sum(t._array) for t in outputs]
        data["range"] = [None if limits is None else list(limits) for limits, _ in measured]
        data["checksum"] = [total for _, total in measured]

    def note_values(
        self,
        data: dict[str, Any],
        site: Site,
        op: Any,
        args: Any,
        inputs: Any,
        outputs: Any,
        limits: Sequence[tuple[float, float] | None],
    ) -> None:
        """Note informative values of a call, whose results have these limits."""
        share = values.flat_share(site.operator, outputs[0]._array, limits[0]) if site.may_be_flat else 0.0
        if share:
            data["flat_share"] = share
        if share > _SATURATED or not all(map(values.is_finite, limits)):
            self.judge(data, limits, op.name, [*inputs, *outputs])
        if site.may_have_pole:
            self._note_pole(data, operator(site.row), args)

    def judge(self, data: dict[str, Any], limits: Sequence[Sequence[float] | None], name: str, tensors: Any) -> None:
        """Store summaries of a call's tensors if the limits of its results make them informative."""
        flat = data.get("flat_share", 0.0)
        if flat == 1.0 or (flat > _SATURATED and name != "relu") or not all(map(values.is_finite, limits)):
            for t in tensors:
                self.note_summary(data, t)

    def _note_pole(self, data: dict[str, Any], does: Operator, args: Any) -> None:
        """Note where an argument has a value at which the slope is infinite."""
        found = values.pole(does, args)
        if found is not None:
            t = args[found[0]]
            self.note_summary(data, t)
            data["values"][str(self.watching.number(t))]["pole"] = found[1]

    def note_summary(self, data: dict[str, Any], t: TensorBase, *, only_bad: bool = False) -> None:
        """Keep a summary of a floating tensor, with ``only_bad`` only if something is not finite."""
        if t._sig.kind not in "fc" or self.allocations.hides(t):
            return
        if only_bad and values.is_finite(values.value_range(t._array)):
            return
        data.setdefault("values", {})[str(self.watching.number(t))] = values.summary(t._array)

    def arguments(self, op: Any, args: Any) -> dict[str, Any] | None:
        """Return plain arguments by position, without defaults; equal ones are one dictionary."""
        plain: dict[str, Any] | None = None
        for i, value in enumerate(args):
            if isinstance(value, Tensor) or not _is_plain(value):
                continue
            if not (i >= op.required and value == op.defaults[i - op.required]):
                plain = {str(i): value} if plain is None else plain | {str(i): value}
        if plain is None or len(plain) != 1:
            return plain
        ((place, value),) = plain.items()
        key = (place, value.__class__, repr(value))
        known = self._plain.get(key)
        if known is None:
            known = self._plain[key] = plain
        return known

    def send(self, event: Event, texts: Sequence[str] | None, made: Sequence[int] = ()) -> None:
        """Send an event with the texts of its line, and set it as the maker of its results."""
        sink = self.watching.sink
        sink.mention(event.source)
        sink.note((completed_event, event, texts, event.data["inputs"], made))


def _is_plain(value: Any) -> bool:
    """Whether an argument is a number or text, or a few of them."""
    if isinstance(value, TensorBase):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (tuple, list)):
        return bool(value) and len(value) <= 16 and all(isinstance(v, _PLAIN) for v in value)
    return isinstance(value, _PLAIN)
