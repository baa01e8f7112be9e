"""Facts of one call beyond its tensors: plain arguments, values, repeated indices, overlapping memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....program.signals import reraise_from_handler
from ....recording.event_data import Values
from ...array_values import Array, flat_share, is_finite, pole_in, range_and_sum, summary
from ..library import LIBRARY
from ..values.far import FarFacts, far_facts
from ..values.ranges import NOT_READ, Figures, Ranges, range_of
from ..values.values import Readable
from .calls import Call
from .tensors import dtype_name

Hidden = Callable[[int, Any], bool]
"""Whether values of a tensor of this number must not be read."""
_PLAIN = (bool, int, float, str)
_MAX_TEXT = 100
_MAX_VALUED = 16
"""Results of one call whose values are read."""


def arguments_of(call: Call) -> dict[str, object]:
    """Return the plain arguments by position or keyword."""
    found: dict[str, object] = {}
    tensor = LIBRARY.torch.Tensor
    for key, value in [*enumerate(call.args), *call.kwargs.items()]:
        kind = type(value)
        if kind is tensor:
            continue
        if kind in _PLAIN:
            found[str(key)] = value[:_MAX_TEXT] if kind is str else value
        elif kind in (tuple, list) and value and len(value) <= 8 and all(type(entry) in _PLAIN for entry in value):
            found[str(key)] = list(value)
        elif kind.__name__ in ("dtype", "device"):
            found[str(key)] = dtype_name(value) if kind.__name__ == "dtype" else str(value)
        elif kind.__name__ == "Size":
            found[str(key)] = [int(size) for size in value]
    return found


def measured(
    call: Call,
    numbers: Sequence[int],
    outputs: list[Any],
    results: Sequence[int],
    more: dict[str, Any],
    ranges: Ranges,
    hidden: Hidden,
    near: bool,
) -> Figures | FarFacts:
    """Return ranges and sums of the results, empty if nothing was read; hidden tensors are skipped.

    ``more`` gets what is informative about results and inputs.  ``near`` is about a single result: see ``quick_range``.
    """
    readable, first = ranges.readable, numbers[0] if numbers else None
    transformed = not readable.now()
    if not (near or transformed) and outputs and not outputs[0].is_cpu:
        return far_facts(call, numbers, outputs[:_MAX_VALUED], results[:_MAX_VALUED], ranges.far, hidden)
    if transformed and not readable.transformed():
        return _unread(call, ranges)
    if transformed:
        more["transformed"] = True
    measures: Figures = ()
    arrays: list[tuple[int, Array, Figures]] = []
    for number, tensor in zip(results, outputs[:_MAX_VALUED], strict=False):
        if transformed:
            found, array = ranges.within(tensor)
        elif hidden(number, tensor):
            found, array = NOT_READ, None
        else:
            found, array = ranges.of(call, tensor, number, first, near=near)
        measures = (*measures, *found) if measures else found
        if array is not None:
            arrays.append((number, array, found))
    if arrays or call.rule.operator.poles:
        values = _values(call, arrays, more, results[0] if results else -1)
        _summarize_inputs(numbers, call, values, readable.within if transformed else readable.array, hidden)
        if values:
            more["values"] = values
    return measures


def _values(
    call: Call, arrays: list[tuple[int, Array, Figures]], more: dict[str, Any], first: int
) -> dict[str, Values]:
    """Return the results that are not finite; add to ``more`` which share of the ``first`` is flat."""
    values: dict[str, Values] = {}
    for number, array, found in arrays:
        limits = range_of(found)
        if not is_finite(limits):
            values[str(number)] = summary(array)
        flat = flat_share(call.rule.operator, array, limits) if number == first else 0.0
        if flat:
            more["flat_share"] = flat
    return values


def _unread(call: Call, ranges: Ranges) -> Figures:
    """Return that nothing was read, since the program observes every kernel; report it for the program's own calls."""
    if call.direct:
        ranges.missed("values", "a dispatch mode of the program is at work")
    return ()


def _summarize_inputs(
    numbers: Sequence[int],
    call: Call,
    values: dict[str, Values],
    read: Callable[[Any], Array | None],
    hidden: Hidden,
) -> None:
    """Add the inputs of a call with non-finite results, and those at which its slope is infinite."""
    made_bad, pole_at = bool(values), _pole_at(call)
    if not made_bad and pole_at is None:
        return
    written = set(call.written())
    for place, tensor in enumerate(call.inputs):
        number = str(numbers[place])
        if not (made_bad or place == pole_at) or place in written or number in values:
            continue
        array = None if hidden(numbers[place], tensor) else read(tensor)
        if array is None or not array.size:
            continue
        if made_bad:
            values[number] = summary(array)
        where = pole_in(call.rule.operator, array) if place == pole_at else None
        if where is not None:
            values.setdefault(number, summary(array))["pole"] = where


def _pole_at(call: Call) -> int | None:
    """Return the position of the input at which the slope may be infinite, None if there is none."""
    does = call.rule.operator
    if not does.poles or (place := (does.operand, -1)) not in call.places:
        return None
    if does.name == "pow":  # of powers those below one
        power = call.args[1] if len(call.args) > 1 else None
        if not isinstance(power, float) or power >= 1.0:
            return None
    return call.places.index(place)


def add_entered(more: dict[str, Any], call: Call, numbers: Sequence[int], known: int, readable: Readable) -> None:
    """Add range and sum of inputs that no recorded call made, numbered from ``known`` on, at their first use.

    They identify values that left the graph as plain numbers and return.
    """
    if not readable.now():
        return
    written, found = set(call.written()), dict[str, list[float]]()
    for place, tensor in enumerate(call.inputs):
        fresh = numbers[place] >= known and place not in written and not call.required[place]
        array = readable.array(tensor) if fresh and tensor.is_floating_point() else None
        limits, total = (None, None) if array is None or not array.size else range_and_sum(array)
        if limits is not None and total is not None:
            found[str(numbers[place])] = [*limits, total]
    if found:
        more["entered"] = found


def overlaps(tensor: Any) -> bool:
    """Whether entries of a tensor share memory with each other, as after ``expand``."""
    try:
        return any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True))
    except Exception as failure:
        reraise_from_handler(failure)
        return False


def duplicates_in(call: Call, readable: Readable) -> int:
    """Return how many elements an indexed write hits more than once without accumulating; 0 on other devices."""
    if (
        not readable.now()
        or any(not tensor.is_cpu for tensor in call.inputs)
        or call.kwargs.get("accumulate")
        or call.kwargs.get("reduce")
    ):
        return 0
    if call.rule.op == "index_put" and len(call.args) > 3 and call.args[3]:
        return 0
    if call.rule.op == "scatter":
        return _scattered_twice(call)
    index = _index_of(call)
    torch: Any = LIBRARY.torch
    if not index or any(not isinstance(part, torch.Tensor) or part.dtype == torch.bool for part in index):
        return 0
    try:
        rows = torch.stack([part.flatten() for part in torch.broadcast_tensors(*index)])
    except RuntimeError:
        return 0
    return int(rows.shape[1] - torch.unique(rows, dim=1).shape[1])


def _scattered_twice(call: Call) -> int:
    """Return how many entries ``scatter`` loses because an index repeats along its dimension."""
    given = dict(zip(("self", "dim", "index", "src"), call.args, strict=False)) | call.kwargs
    index, source, along = given.get("index"), given.get("src"), given.get("dim")
    tensor = LIBRARY.torch.Tensor
    if not isinstance(index, tensor) or not isinstance(source, tensor) or not isinstance(along, int) or not index.dim():
        return 0
    ordered = index.sort(along).values
    count = ordered.shape[along] - 1
    return int((ordered.narrow(along, 0, count) == ordered.narrow(along, 1, count)).sum()) if count > 0 else 0


def _index_of(call: Call) -> list[Any]:
    """Return the index tensors of an indexed write; full slices are ignored."""
    if call.rule.op == "index_copy":
        return [call.args[2]] if len(call.args) > 2 else []
    if len(call.args) < 2:
        return []
    index = call.args[1]
    parts = list(index) if isinstance(index, (tuple, list)) else [index]
    return [part for part in parts if not (isinstance(part, slice) and part == slice(None)) and part is not Ellipsis]
