"""The inputs of a call: their spelling in its line, the range of their values, whether they are random."""

from __future__ import annotations

import math
from typing import Any

from ...operators import Trait, is_a
from ...recording.events import Event
from ..thresholds import REORDERED
from .flow import Flow

LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38}
"""Half precision -> its largest number."""


def expression(flow: Flow, row: int) -> str:
    """Return a call as the user would write it: ``log(v)``."""
    event = flow.events[row]
    return f"{event.op}({', '.join(input_names(flow, row)) or '...'})"


def input_names(flow: Flow, row: int) -> list[str]:
    """Return the texts of a call's inputs in its line."""
    event = flow.events[row]
    names = event.data.get("names", [])
    spelled = [name for name in names if name]
    return spelled or [flow.name(tensor, event.source) for tensor in flow.inputs(row)] or ["x"]


def overflowed_behind(flow: Flow, row: int) -> bool:
    """Whether something that a call was computed from became infinite of finite values, as no mask does."""
    behind = flow.behind(flow.inputs(row), row, gradients=False).calls
    return any(_overflows(flow, call) for call in behind)


def _overflows(flow: Flow, call: int) -> bool:
    made = [end for limits in flow.events[call].data.get("range", ()) for end in limits or ()]
    given = [end for limits in known_limits(flow, call) for end in limits]
    return any(map(_infinite, made)) and bool(given) and not any(map(_infinite, given))


def _infinite(end: Any) -> bool:
    return end is not None and math.isinf(float(end))


def limits_of(flow: Flow, tensor: int, before: int) -> Any:
    """Return ``[least, most]`` of a tensor before a row, as known of the last call that made or wrote it, or None.

    Where that was not measured (``figure_schedule``), the call may have read its inputs.
    """
    return limits_and_sum(flow, tensor, before)[0] or _summarized(flow, tensor, before)


def _summarized(flow: Flow, tensor: int, row: int) -> list[float] | None:
    """Return the limits of a call's input, all finite, of which the call keeps a summary."""
    summary = flow.events[row].data.get("values", {}).get(str(tensor)) if row < len(flow.events) else None
    if not summary or summary.get("nan") or summary.get("inf") or "min" not in summary:
        return None
    return [summary["min"], summary["max"]]


def limits_and_sum(flow: Flow, tensor: int, before: int) -> tuple[Any, float | None]:
    """Return that with the sum of the tensor's entries; None for what is not known."""
    made = flow.last_producer(tensor, before, lambda call: bool(flow.events[call].data.get("range")))
    if made is None:
        return None, None
    data = flow.events[made].data
    outputs = data.get("outputs", [])
    place = outputs.index(tensor) if tensor in outputs else 0
    limits, sums = data["range"], data.get("checksum", ())
    return limits[place] if place < len(limits) else None, sums[place] if place < len(sums) else None


def largest_input(flow: Flow, row: int) -> float:
    """Return the largest absolute finite value that a call was given."""
    ends = [abs(end) for limits in known_limits(flow, row) for end in limits if end is not None]
    return max((end for end in ends if math.isfinite(end)), default=math.nan)


def known_limits(flow: Flow, row: int) -> list[Any]:
    """Return the limits of those inputs of a call for which they are known."""
    return [limits for tensor in flow.inputs(row) if (limits := limits_of(flow, tensor, row))]


def other_sums(one: Event, other: Event) -> bool:
    """Whether two calls that should be equal had different results, by their sums."""
    pairs = zip(one.data.get("checksum", ()), other.data.get("checksum", ()), strict=False)
    return any(mine is not None and theirs is not None and not _same(mine, theirs) for mine, theirs in pairs)


def _same(one: float, other: float) -> bool:
    """Whether two sums are equal up to the order of summation."""
    close = math.isclose(one, other, rel_tol=REORDERED, abs_tol=REORDERED)
    return close or (math.isnan(one) and math.isnan(other))


def takes_batch_statistics(event: Event) -> bool | None:
    """Whether a normalisation uses batch statistics, None if unknown."""
    arguments = event.data.get("arguments") or {}
    training = arguments.get("training", arguments.get("5"))
    return training if is_a(event.op, Trait.NORMALISATION) and isinstance(training, bool) else None


def draws_numbers(event: Event) -> bool:
    """Whether a call draws random numbers that its result shows: of dropout, only where it is on."""
    arguments = event.data.get("arguments") or {}
    off = arguments.get("training") is False
    if is_a(event.op, Trait.DROPOUT):
        off = off or arguments.get("2") is False or arguments.get("p", arguments.get("1")) == 0
    return is_a(event.op, Trait.RANDOM) and not off
