"""Sums over ranks in the forward pass to which every rank adds a term that belongs in once: a bias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....graphs.align import plain_name
from ....lineup.drift import equal_at_first
from ....lineup.lineup import Lineup
from ....lineup.replica import sums
from ....lineup.run import Run
from ....operators import Trait, is_a
from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case
from ...text.words import at, listed

_SAME = (Trait.COPY, Trait.VIEW, Trait.CAST)
"""Calls that leave every entry as it is."""


class _Summand(NamedTuple):
    """A parameter that a call adds to what ranks then sum."""

    bias: str
    others: tuple[str, ...]
    """The other parameters of that call."""
    source: SourceLine | None
    op: str
    summed: SourceLine | None
    """The line of the sum."""


def summed_biases(found: Lineup) -> Iterator[Case]:
    """Yield a case for each line that adds a bias, equal on all ranks, to parts that differ and are then summed."""
    by_rank = [dict.fromkeys(_summands(run)) for run in found.runs]
    equal = equal_at_first(found.replicas)
    lines = set()
    for one in by_rank[0]:
        parts = [name for name in one.others if equal.get(name) is False]
        if all(one in rest for rest in by_rank) and equal.get(one.bias) and parts and one.source not in lines:
            lines.add(one.source)
            yield _case(one, parts)


def _summands(run: Run) -> Iterator[_Summand]:
    """Yield what one rank adds to values right before a collective of its forward pass sums them."""
    made: dict[int, Event] = {}
    tensors = run.recording.tensors
    for event in run.recording.events:
        data = event.data
        if event.kind in ("operation", "cut"):
            made.update(dict.fromkeys(data.get("outputs", ()), event))
        elif sums(event) and data.get("run") is None:
            call = _maker(made, data["inputs"][-1]) if data.get("group_size", 1) > 1 and data.get("inputs") else None
            leaves = [one for one in _leaves(call) if tensors[one].parameter]
            bias = next((one for one in leaves if call is not None and _adds(call, one, len(tensors[one].shape))), None)
            if call is not None and bias is not None:
                names = {one: plain_name(tensors[one].name) or "" for one in leaves}
                others = tuple(name for one, name in names.items() if one != bias)
                yield _Summand(names[bias], others, call.source, call.op, event.source)


def _maker(made: dict[int, Event], tensor: int) -> Event | None:
    """Return the call that computed the entries of a tensor."""
    call = made.get(tensor)
    while call is not None and is_a(call.op, *_SAME) and call.data.get("inputs"):
        call = made.get(call.data["inputs"][0])
    return call


def _leaves(call: Event | None) -> list[int]:
    return [] if call is None else call.data.get("inputs", [])


def _adds(call: Event, tensor: int, dimensions: int) -> bool:
    """Whether a call adds a one-dimensional parameter to what it computes from others."""
    inputs = call.data["inputs"]
    last = is_a(call.op, Trait.CONTRACTION) and len(inputs) > 2 and tensor == inputs[2]
    return dimensions == 1 and (last or (is_a(call.op, Trait.ADDITION) and tensor in inputs))


def _case(one: _Summand, parts: list[str]) -> Case:
    """Return the case of one bias."""
    return Case(
        kind="summed-on-every-rank",
        message=f"{one.op}{at(one.source)} adds the bias {one.bias}, which is the same on all ranks, to what each rank "
        f"computes with its part of {listed(parts)}, and all of these are summed up{at(one.summed)}: the bias counts "
        "once for each rank.",
        remedy=f"leave {one.bias} out there, and add it once after the sum",
        source=one.source,
        op=one.op,
        evidence={"bias": one.bias, "parts": parts},
    )
