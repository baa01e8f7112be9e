"""What the events of calls have in common: who called, what the tensors are called, what their values tell."""

from __future__ import annotations

import math
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import Any

from ....engine.base import TensorBase
from ....engine.saved import SavedTensor
from ....engine.state import STATE
from ....engine.tensor import Tensor
from ...events import Event
from ...frames import source_line
from ...snapshot import SourceLine
from .. import array_values as values
from .caller import Caller, caller_of
from .spellings import Names
from .watching import Watching

_MAX_LINES = 50_000
_PLAIN = (bool, int, float, str)
_NO_TENSORS = frozenset({bool, int, float, str, type(None)})
_SATURATED = 0.5
"""Share of flat entries from which a summary of the inputs is kept."""


class Pending(threading.local):
    """What a thread has begun."""

    write: Event | None = None
    """An in-place write under way, sent already and completed when it is done."""
    whole: weakref.ref[Any] | None = None
    """The tensor of ``t[i] = v``, while the view that is written to is made."""
    took = 0
    """Nanoseconds of the latest operation, or when the write under way began."""
    place: tuple[int, int] = (0, 0)
    """Frame and instruction of the latest call."""

    def __init__(self) -> None:
        self.made: set[int] = set()
        """Numbers of what it has made."""


class Describing:
    """Describes calls for one watcher."""

    def __init__(self, watching: Watching) -> None:
        self.watching = watching
        self._lines: dict[tuple[int, int], tuple[CodeType, SourceLine | None]] = {}
        self.names = Names(watching)
        self.aliases: dict[int, str] = {}
        """Number of a tensor that shares memory behind autograd's back -> how it was got: ``data`` or ``detach``."""
        self.pending = Pending()
        self._plain: dict[tuple[str, type, str], dict[str, Any]] = {}

    def caller(self) -> Caller | None:
        """Who called, if that is to be recorded."""
        if not self.watching.sink.wants():
            return None
        caller = caller_of(sys._getframe(2))
        return None if caller.internal or caller.frame is None else caller

    def line(self, frame: FrameType | None) -> SourceLine | None:
        """The line at which a frame stands."""
        if frame is None:
            return None
        key = (id(frame.f_code), frame.f_lasti)
        known = self._lines.get(key)
        if known is None:
            if len(self._lines) >= _MAX_LINES:
                self._lines.clear()
            known = self._lines[key] = (frame.f_code, source_line(frame))
        return known[1]

    def given(self, inputs: Any, names: list[str], line: SourceLine | None) -> dict[str, Any]:
        """What every event of a call says of its inputs and surroundings."""
        watching = self.watching
        table = watching.sink.tensors
        numbers, fresh = [], []
        for t, text in zip(inputs, names, strict=True):
            number = table.known(t)
            if number is None or (text and not table[number].name):
                if number is None:
                    fresh.append(t)
                number = watching.number(t, line, name=self.names.worthy(text))
            numbers.append(number)
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
            self.note_values(data, t, only_bad=True)
        return data

    def results(self, data: dict[str, Any], outputs: Any, names: list[str], line: SourceLine | None) -> None:
        """Number the results of a call and note their names and values."""
        watching = self.watching
        numbers = []
        for t, name in zip(outputs, names, strict=True):
            numbers.append(watching.number(t, line, name=self.names.worthy(name)))
        data["outputs"] = numbers
        data["output_names"] = names
        self.measure(data, outputs)

    def measure(self, data: dict[str, Any], outputs: Any) -> None:
        """Note range and sum of each result."""
        if len(outputs) == 1:
            limits, total = values.range_and_sum(outputs[0]._array)
            data["range"], data["checksum"] = [limits], [total]
            return
        measured = [values.range_and_sum(t._array) for t in outputs]
        data["range"] = [limit for limit, _ in measured]
        data["checksum"] = [total for _, total in measured]

    def judge(self, data: dict[str, Any], op: Any, inputs: Any, outputs: Any) -> None:
        """Keep summaries where the values tell something."""
        bad = False
        for limits in data["range"]:
            if limits is not None and not (limits[0] - limits[0] == 0.0 == limits[1] - limits[1]):
                bad = True
        flat = data.get("flat_share", 0.0)
        if not bad and not (flat == 1.0 or (flat > _SATURATED and op.name != "relu")):
            return
        for t in [*inputs, *outputs]:
            self.note_values(data, t)

    def note_pole(self, data: dict[str, Any], name: str, args: Any) -> None:
        """Keep where an argument lies at a value at which the slope is infinite."""
        found = values.pole(name, args)
        if found is not None:
            t = args[found[0]]
            self.note_values(data, t)
            data["values"][str(self.watching.number(t))]["pole"] = found[1]

    def note_values(self, data: dict[str, Any], t: TensorBase, *, only_bad: bool = False) -> None:
        """Keep a summary of a floating tensor, with ``only_bad`` only if something is not finite."""
        if t._array.dtype.kind not in "fc":
            return
        if only_bad and values.is_finite(values.value_range(t._array)):
            return
        data.setdefault("values", {})[str(self.watching.number(t))] = values.summary(t._array)

    def arguments(self, op: Any, args: Any) -> dict[str, Any] | None:
        """Plain arguments by position, without those that are as usual; equal ones are one dictionary."""
        plain: dict[str, Any] | None = None
        for i, value in enumerate(args):
            if value.__class__ is Tensor or not _is_plain(value):
                continue
            if not (i >= op.required and value == op.defaults[i - op.required]):
                plain = {str(i): value} if plain is None else plain | {str(i): value}
        if plain is None or len(plain) != 1:
            return plain
        ((place, value),) = plain.items()
        key = (place, value.__class__, repr(value))
        if len(self._plain) >= _MAX_LINES:
            self._plain.clear()
        return self._plain.setdefault(key, plain)

    def send(self, event: Event) -> None:
        """Send an event and say of its results that it made them."""
        table = self.watching.sink.tensors
        row = self.watching.sink(event)
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


def saved_numbers(node: Any, inputs: Any, numbers: list[int], outputs: list[int]) -> list[int]:
    """Numbers of the inputs and outputs that a node keeps for backward."""
    saved = getattr(node, "saved", None)
    found: list[int] = []
    if not saved:
        return found
    by_id = {id(t): number for t, number in zip(inputs, numbers, strict=True)}
    for name, value in zip(node.op.saved_names, saved, strict=False):
        if value.__class__ in _NO_TENSORS:
            continue
        if name == "result":
            found.extend(outputs)
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            kept = one._tensor if isinstance(one, SavedTensor) else one
            if id(kept) in by_id:
                found.append(by_id[id(kept)])
    return found
