"""``Parting``: parameters that diverge on some ranks at a step; ``Cause``: why, where the program reduces by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graphs.graph import SourceLine
from ..recording.events import Event
from .copies import Copies, sums


@dataclass(frozen=True, slots=True)
class Cause:
    """What made copies part."""

    why: str
    source: SourceLine | None
    names: tuple[str, ...]
    step: int
    detail: str = ""
    other: SourceLine | None = None
    ranks: tuple[int, ...] = ()
    """Ranks among those that hold the copies, by their places."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Parameters that were alike on all ranks and are not after a step; before it if something ``written`` did it."""

    told: Sequence[Copies]
    names: tuple[str, ...]
    step: int
    written: bool = False

    def windows(self, name: str) -> Iterator[tuple[Copies, range]]:
        """Yield of each rank the rows between the step before and this one."""
        return ((one, one.window(name, self.step)) for one in self.told)

    def cause(self, why: str, source: SourceLine | None, names: Sequence[str] = (), **more: object) -> Cause:
        """Return a cause for some of the names, or all."""
        return Cause(why, source, tuple(names) or self.names, self.step, **more)  # type: ignore[arg-type]


def kept_alike(told: Sequence[Copies], name: str) -> bool:
    """Whether a wrapper, or a sum of gradients by hand, keeps a parameter alike on all ranks."""
    return all(name in one.wrapped or name in one.reduced for one in told)


def backward_line(events: Sequence[Event]) -> SourceLine | None:
    """Return the line of the last call of ``backward``."""
    begun = (event for event in reversed(events) if event.kind == "backward" and event.data.get("api") == "backward")
    return next((event.source for event in begun), None)


# -- the program reduces gradients itself, incorrectly, or not at all
def by_hand(parting: Parting) -> Cause | None:
    """Gradients are added up by hand: not of all parameters, or not between backward and the step."""
    one = parting.told[0]
    if not (one.reduced or one.hooked) or any(name in one.wrapped or name in one.hooked for name in parting.names):
        return None
    names = [name for name in parting.names if all(name in each.reduced for each in parting.told)]
    if names:
        return _untimely(parting, names)
    reduced = [row for rows in (*one.reduced.values(), *one.hooked.values()) for row in rows]
    _, window = next(parting.windows(parting.names[0]))
    line = next((one.events[row].source for row in reduced if row in window), None)
    return parting.cause("left out", line) if line is not None and _of_one_module(one, parting.names) else None


def _of_one_module(one: Copies, names: Sequence[str]) -> bool:
    """Whether one module holds parameters together with some whose gradients are added up: others may be meant so."""
    numbers = {one.numbers[name] for name in names}
    reduced = {one.numbers[name] for name in (*one.reduced, *one.hooked) if name in one.numbers}
    held = [set(event.data.get("parameters", {}).values()) for event in one.events if event.kind == "module"]
    return any(numbers <= inside and not reduced.isdisjoint(inside) for inside in held)


def _untimely(parting: Parting, names: Sequence[str]) -> Cause | None:
    """Gradients are added up after the step, before all of them are there, or in too small a group."""
    one, window = next(parting.windows(names[0]))
    rows, number = one.reduced[names[0]], one.numbers[names[0]]
    timely = [row for row in rows if row in window]
    if timely and one.events[timely[-1]].op == "reduce":
        return parting.cause("reduced to one", one.events[timely[-1]].source, names, detail="reduce")
    arrived = [row for row, event in one.of_kind(window, "accumulate") if event.data.get("tensor") == number]
    last = one.events[(timely or rows)[-1]]
    step = one.events[one.held[names[0]][parting.step].row]
    if arrived and not any(row > arrived[0] for row in timely):
        return parting.cause("too late", last.source, names, detail=last.op, other=step.source)
    if arrived and not any(row > arrived[-1] for row in timely):
        return parting.cause("too early", last.source, names, detail=last.op, other=one.events[arrived[-1]].source)
    if timely and last.data.get("asynchronous"):
        return parting.cause("not waited", last.source, names, detail=last.op, other=step.source)
    if last.data.get("group_size", 0) < (one.run.recording.world_size or 0):
        return parting.cause("small group", last.source, names, detail=last.op)
    return None


def copied(parting: Parting) -> Cause | None:
    """What is added up is as large as the gradients, but no gradient, and nothing is written back."""
    lines: list[SourceLine | None] = []
    if any(name in one.wrapped for name in parting.names for one in parting.told):
        return None  # whose reducer may have been replaced, by a hook of the program
    first = parting.told[0]
    sizes = {name: math.prod(first.run.recording.tensors[first.numbers[name]].shape) for name in parting.names}
    for name in parting.names:
        for one, window in parting.windows(name):
            fits = {sizes[name], sum(sizes.values())}  # alone, or all in one piece
            returned = {row for rows in one.hooked.values() for row in rows}
            calls = (
                found for found in one.of_kind(window, "collective") if found[0] not in returned and sums(found[1])
            )
            fitting = [found for found in calls if not fits.isdisjoint(map(math.prod, found[1].data.get("shapes", ())))]
            if not fitting or _writes_gradient(one, range(fitting[0][0], window.stop), one.numbers[name]):
                return None
            lines.append(fitting[-1][1].source)
    return parting.cause("copy", lines[0])


def _writes_gradient(one: Copies, rows: range, number: int) -> bool:
    """Whether a gradient is written, or exchanged, in some rows."""
    return any(
        number in (event.data.get("gradient_of"), event.data.get("tensor"))
        for _, event in one.of_kind(rows, "inplace", "leaf")
    )


def losses_only(parting: Parting) -> Cause | None:
    """What is added up is a value with a history, a loss: its gradients are each rank's own all the same."""
    if any(one.wrapped or one.reduced for one in parting.told):
        return None
    lines = []
    for one, window in parting.windows(parting.names[0]):
        added = (event for _, event in one.of_kind(window, "collective") if sums(event))
        lines += [(event.op, event.source) for event in added if any(event.data.get("requires_grad", ()))][:1]
    return parting.cause("losses only", lines[0][1], detail=lines[0][0]) if len(lines) == len(parting.told) else None


def silent(parting: Parting) -> Cause | None:
    """Nothing was ever reduced."""
    alone = next((one.alone for one in parting.told if one.alone), None)
    if alone is not None:
        return parting.cause("group of one", alone.source, detail=alone.op)
    one = parting.told[0]
    if any(each.wrapped or each.reduced for each in parting.told):
        return None
    row = one.held[parting.names[0]][parting.step].row
    line = backward_line(one.events[:row]) or one.events[row].source
    if not any(each.sends for each in parting.told) or all(_shared_once(each, parting) for each in parting.told):
        return parting.cause("not reduced", line)
    if any(any(_meets(each)) for each in parting.told):
        return None
    return parting.cause("trained apart", line)


def _meets(one: Copies) -> Iterator[bool]:
    """Yield for each tensor that a rank sends whether it does so between its steps, or sends its parameters then."""
    tensors = one.run.recording.tensors
    held = [tensors[one.numbers[name]] for name in one.held]
    memory, sizes = {facts.storage for facts in held} - {None}, [math.prod(facts.shape) for facts in held]
    whole = {*sizes, sum(sizes)} - {1}
    first, last = (limit(steps[end].row for steps in one.held.values()) for limit, end in ((min, 0), (max, -1)))
    for row, event in enumerate(one.events):
        for tensor in event.data["inputs"] if _sends(event) and row > first else ():
            facts = tensors[tensor]
            yield row < last or facts.storage in memory or math.prod(facts.shape) in whole


def _shared_once(one: Copies, parting: Parting) -> bool:
    """Whether all that ranks ever sent are these parameters, before the first step: they began as copies."""
    first = one.held[parting.names[0]][0].row
    sent = [(row, event.data["inputs"]) for row, event in enumerate(one.events) if _sends(event)]
    given = {tensor for _, inputs in sent for tensor in inputs}
    memory = {one.run.recording.tensors[tensor].storage for tensor in given} - {None}
    whole = all(one.run.recording.tensors[one.numbers[name]].storage in memory for name in parting.names)
    return whole and all(row < first for row, _ in sent)


def _sends(event: Event) -> bool:
    return event.kind == "collective" and bool(event.data.get("inputs"))
