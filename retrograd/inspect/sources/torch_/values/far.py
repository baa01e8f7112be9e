"""Values of tensors on other devices: requested when a call is made, read when the event is read."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....operators import Trait
from ....recording.event_data import Values
from ....recording.tensor_table import TensorTable
from ..calls.calls import Call, version_of
from ..library import LIBRARY
from .readbacks import ALL, READBACKS, Extra, Promise
from .values import Readable


class _Known(NamedTuple):
    """Requested statistics of one tensor."""

    version: int
    memory: int | None
    promise: Promise


class FarValues:
    """Requests statistics of tensors, once for each until somebody writes to it."""

    def __init__(self, readable: Readable, table: TensorTable, missed: Callable[[str, str], None]) -> None:
        self._readable, self._table, self._missed = readable, table, missed
        self._known: BoundedDict[int, _Known] = BoundedDict(4_096)

    def of(self, number: int, tensor: Any, extra: Sequence[Extra] = ()) -> Promise | None:
        """Return statistics of a tensor, None if it is on the CPU or cannot be read."""
        known, version = self._known.get(number), version_of(tensor)
        if known is not None and known.version == version and not extra:
            return known.promise
        promise = READBACKS.ask(tensor, ALL, extra) if self._readable.is_far(tensor) else None
        if promise is None and not tensor.is_cpu and tensor.is_floating_point() and tensor.numel():
            self._missed("values", f"on device {tensor.device.type}")
        if promise is not None:
            self._known[number] = _Known(version, self._table.memory_of(number), promise)
        return promise

    def wrote(self, numbers: Sequence[int]) -> None:
        """Note that tensors were written, and with them all that share their memory."""
        hit = {self._table.memory_of(number) for number in numbers}
        for number in [number for number, known in self._known.items() if known.memory in hit or number in numbers]:
            del self._known[number]


class FarFacts(NamedTuple):
    """Requested statistics of one call."""

    results: tuple[tuple[int, tuple[int, ...], Promise | None], ...]
    """Number, shape and statistics of each; the first includes the flat share of its function, if it can be flat."""
    inputs: tuple[tuple[int, tuple[int, ...], Promise], ...]
    pole: int | None
    """The input that may have a value where the slope is infinite."""
    flat: bool

    def add_to(self, data: dict[str, Any]) -> None:
        """Add the statistics to the data of the call's event."""
        promises = [promise for _, _, promise in self.results]
        if any(
            promise is not None and promise.all is None for promise in (*promises, *(one[2] for one in self.inputs))
        ):
            return
        if any(promise is not None for promise in promises):
            data["range"] = [None if one is None else _range(one) for one in promises]
            data["checksum"] = [None if one is None else one["sum"] for one in promises]
        values = {str(n): summary(one, shape) for n, shape, one in self.results if one is not None and not one.finite}
        if values:
            values = {str(n): summary(one, shape) for n, shape, one in self.inputs} | values
        first = promises[0] if promises else None
        if self.flat and first is not None and first["flat"] > 0:
            data["flat_share"] = first["flat"] / first.size
        if self.pole is not None:
            number, shape, promise = self.inputs[self.pole]
            if promise["pole"] > 0:
                values.setdefault(str(number), summary(promise, shape))["pole"] = _index(promise["pole"] - 1, shape)
        if values:
            data["values"] = values


def far_facts(
    call: Call,
    numbers: Sequence[int],
    outputs: Sequence[Any],
    results: Sequence[int],
    far: FarValues,
    hidden: Callable[[int, Any], bool],
) -> FarFacts:
    """Request statistics of a call's results and operands."""
    ends, pole = call.rule.operator.flat, _pole(call)
    flat = [] if ends is None else [Extra("flat", _flat_counter(*ends))]
    made: list[tuple[int, tuple[int, ...], Promise | None]] = []
    for number, tensor in zip(results, outputs, strict=True):
        promise = None if hidden(number, tensor) else far.of(number, tensor, () if made else flat)
        made.append((number, tuple(tensor.shape), promise))
    given: list[tuple[int, tuple[int, ...], Promise]] = []
    at, written = None, set(call.written())
    for place, (number, tensor) in enumerate(zip(numbers, call.inputs, strict=True)):
        if place in written or number in results or hidden(number, tensor):
            continue
        asked = [pole[1]] if pole is not None and call.places[place] == (pole[0], -1) else []
        promise = far.of(number, tensor, asked)
        if promise is not None:
            at = len(given) if asked else at
            given.append((number, tuple(tensor.shape), promise))
    return FarFacts(tuple(made), tuple(given), at, bool(flat))


def summary(promise: Promise, shape: tuple[int, ...]) -> Values:
    """Summarize a tensor as ``array_values.summary`` does, except for values that need finite entries only."""
    found: Values = {"size": promise.size, "nan": int(promise["nan"])}
    found["inf"] = int(promise["bad"] - promise["nan"])
    if not promise.has("zeros"):
        return found
    found["zero"] = int(promise["zeros"])
    if promise.finite:
        found["min"], found["max"] = promise["low"], promise["high"]
    else:
        found["first_bad"] = _index(promise["first_bad"], shape)
    return found


def _range(promise: Promise) -> list[float]:
    return [math.nan, math.nan] if promise["nan"] else [promise["low"], promise["high"]]


def _index(place: float, shape: tuple[int, ...]) -> list[int]:
    """Return the index of an entry by its position."""
    rest, found = int(place), list[int]()
    for length in reversed(shape):
        rest, here = divmod(rest, length)
        found.append(here)
    return found[::-1]


def _flat_counter(low: float, high: float) -> Callable[[Any], Any]:
    """Return a function that counts the entries at or beyond two bounds."""
    return lambda x: (x.le(low) | x.ge(high)).sum()


def _pole(call: Call) -> tuple[int, Extra] | None:
    """Return the argument of a call that may have a value where the slope is infinite, and the statistic for that.

    The statistic is 0 if no entry has, else the position of the first one, counted from 1.
    """
    does = call.rule.operator
    if not does.poles:
        return None
    if does.name == "pow" and not (len(call.args) > 1 and isinstance(call.args[1], float) and call.args[1] < 1.0):
        return None

    def first(x: Any) -> Any:
        if does.is_a(Trait.REDUCTION):
            return x.eq(0).all()
        hits = [x.eq(pole) for pole in does.poles]
        hit = functools.reduce(operator.or_, hits).flatten().to(LIBRARY.torch.uint8)
        return hit.amax() * (hit.argmax() + 1)

    return does.operand, Extra("pole", first)
