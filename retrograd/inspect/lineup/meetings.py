"""Where ranks meet, and where they part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graphs.columns import Plain
from ..operators.collectives import Shares, collective, shares
from ..program.places import SourceLine
from ..recording.events import Event
from .copies import Copies, sums
from .run import Run

# `Parting`: parameters that diverge on some ranks at a step; `Cause`: why, where the program reduces by hand.


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


# Matches the collectives of ranks: the first that a rank of its group does not join, or joins with other arguments.


@dataclass(frozen=True, slots=True)
class Unmet:
    """One collective of a group, as each of its ranks has it."""

    what: str
    """``"missing"`` on some ranks, another ``"operation"``, other ``"tensors"``, or another ``"root"``."""
    runs: tuple[int, ...]
    """The runs in the group."""
    calls: tuple[Event | None, ...]
    """What each of them calls as the first that is not alike; None where it calls nothing more."""

    @property
    def having(self) -> list[int]:
        """The runs that call something there."""
        return [run for run, call in zip(self.runs, self.calls, strict=True) if call is not None]

    @property
    def lacking(self) -> list[int]:
        """Those that do not."""
        return [run for run, call in zip(self.runs, self.calls, strict=True) if call is None]

    @property
    def first(self) -> Event:
        """The call of the first run that has one."""
        return next(call for call in self.calls if call is not None)

    def by_call(self) -> dict[tuple[str, str, SourceLine | None], list[int]]:
        """Return operation, tensors (and root) and line of each call -> the runs that make it, fewest first."""
        found: dict[tuple[str, str, SourceLine | None], list[int]] = {}
        for run, call in zip(self.runs, self.calls, strict=True):
            if call is not None:
                root = f" with root {call.data['root']}" if self.what == "root" and "root" in call.data else ""
                found.setdefault((call.op, sizes_text(call) + root, call.source), []).append(run)
        return dict(sorted(found.items(), key=lambda one: (len(one[1]), one[1])))

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values."""
        calls = [call and {"op": call.op, "source": call.source and call.source.plain()} for call in self.calls]
        return {"what": self.what, "runs": list(self.runs), "calls": list(calls)}


def first_unmet(runs: Sequence[Run]) -> Unmet | None:
    """Return the first collective of a group that its ranks do not call alike.

    One that some never call counts only where others wait for them in it, or it failed there.
    """
    groups: dict[tuple[object, ...], dict[int, list[Event]]] = {}
    for number, run in enumerate(runs):
        for group, calls in _by_group(run).items():
            groups.setdefault(group, {})[number] = calls
    for (members, *_), of_runs in groups.items():
        if members is None:
            of_runs = {number: of_runs.get(number, []) for number in range(len(runs))}
        found = _first_odd(of_runs)
        if found is not None:
            return found
    return None


def _by_group(run: Run) -> dict[tuple[object, ...], list[Event]]:
    """Return the collectives of each group: its members, None for all ranks, and which of several such it is."""
    keys: dict[int, tuple[object, ...]] = {0: (None, 0)}
    found: dict[tuple[object, ...], list[Event]] = {}
    for event in run.recording.events:
        data = event.data
        if "members" in data and data["group"] not in keys:
            members = tuple(data["members"])
            keys[data["group"]] = members, sum(key[0] == members for key in keys.values())
            found.setdefault(keys[data["group"]], [])
        if event.kind == "collective" and "sequence" in data:
            found.setdefault(keys.get(data["group"], (data["group"], -1)), []).append(event)
    return found


def _first_odd(of_runs: dict[int, list[Event]]) -> Unmet | None:
    """Return the first place at which the calls of the ranks of one group are not alike."""
    numbers = tuple(of_runs)
    if len(numbers) < 2:
        return None
    for calls in _by_sequence([*of_runs.values()]):
        present = [call for call in calls if call is not None]
        if len({collective(call.op) for call in present}) > 1:
            return Unmet("operation", numbers, calls)
        if len({_sizes(call) for call in present}) > 1:
            return Unmet("tensors", numbers, calls)
        if len({call.data.get("root") for call in present}) > 1:
            return Unmet("root", numbers, calls)
        if len(present) < len(calls):
            waits = any(call.data.get("pending") or call.data.get("error") for call in present)
            return Unmet("missing", numbers, calls) if waits else None
    return None


def _by_sequence(of_runs: Sequence[Sequence[Event]]) -> Iterator[tuple[Event | None, ...]]:
    """Yield the calls that have one number, from the first on that all ranks still know: recorders forget old ones."""
    known = [{call.data["sequence"]: call for call in calls} for calls in of_runs]
    first = max((min(calls) for calls in known if calls), default=0)
    for number in sorted(set().union(*known)):
        calls = tuple(one.get(number) for one in known)
        if number >= first and not any(
            call is None and number < max(one, default=-1) for call, one in zip(calls, known, strict=True)
        ):
            yield calls


def _sizes(call: Event) -> tuple[tuple[int, str], ...]:
    """Return how many entries of which dtype a call sends, where that must be the same on all ranks."""
    return tuple(_pairs(call)) if Shares.ONE_SIZE in shares(call.op) else ()


def _pairs(call: Event) -> Iterator[tuple[int, str]]:
    data = call.data
    for shape, dtype in zip(data.get("shapes", ()), data.get("dtypes", ()), strict=False):
        yield math.prod(shape), dtype


def sizes_text(call: Event) -> str:
    """Return the shapes and dtypes of a call: ``(6,) float32``."""
    pairs = zip(call.data.get("shapes", ()), call.data.get("dtypes", ()), strict=False)
    return ", ".join(f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)}) {dtype}" for shape, dtype in pairs)
