"""Finds the first collective on which ranks of a group disagree, and gradients summed in different orders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graphs.columns import Plain
from ..operators.collectives import Shares, collective, shares
from ..program.places import SourceLine
from ..recording.events import Event
from .replica import Replica, sums
from .run import Run


@dataclass(frozen=True, slots=True)
class UnmatchedCollective:
    """One collective of a group, as each of its ranks calls it."""

    what: str
    """``"missing"`` on some ranks, another ``"operation"``, other ``"tensors"``, or another ``"root"``."""
    runs: tuple[int, ...]
    """The runs in the group."""
    calls: tuple[Event | None, ...]
    """The first mismatching call of each run; None where it makes no further call."""

    @property
    def having(self) -> list[int]:
        """The runs that make a call there."""
        return [run for run, call in zip(self.runs, self.calls, strict=True) if call is not None]

    @property
    def lacking(self) -> list[int]:
        """The runs that make none."""
        return [run for run, call in zip(self.runs, self.calls, strict=True) if call is None]

    @property
    def first(self) -> Event:
        """The call of the first run that makes one."""
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
        """Return the fields as JSON values."""
        calls = [call and {"op": call.op, "source": call.source and call.source.plain()} for call in self.calls]
        return {"what": self.what, "runs": list(self.runs), "calls": list(calls)}


def first_unmatched(runs: Sequence[Run]) -> UnmatchedCollective | None:
    """Return the first collective of a group whose calls do not match.

    A collective that some ranks never call counts only if others wait in it, or if it failed there.
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
    """Return the collectives of each group, by members (None for all ranks) and number among equal groups."""
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


def _first_odd(of_runs: dict[int, list[Event]]) -> UnmatchedCollective | None:
    """Return the first position at which the calls of one group's ranks do not match."""
    numbers = tuple(of_runs)
    if len(numbers) < 2:
        return None
    for calls in _by_sequence([*of_runs.values()]):
        present = [call for call in calls if call is not None]
        if len({collective(call.op) for call in present}) > 1:
            return UnmatchedCollective("operation", numbers, calls)
        if len({_sizes(call) for call in present}) > 1:
            return UnmatchedCollective("tensors", numbers, calls)
        if len({call.data.get("root") for call in present}) > 1:
            return UnmatchedCollective("root", numbers, calls)
        if len(present) < len(calls):
            waits = any(call.data.get("pending") or call.data.get("error") for call in present)
            return UnmatchedCollective("missing", numbers, calls) if waits else None
    return None


def _by_sequence(of_runs: Sequence[Sequence[Event]]) -> Iterator[tuple[Event | None, ...]]:
    """Yield the calls with one sequence number, from the first that all ranks still have: dumps forget old ones."""
    known = [{call.data["sequence"]: call for call in calls} for calls in of_runs]
    first = max((min(calls) for calls in known if calls), default=0)
    for number in sorted(set().union(*known)):
        calls = tuple(one.get(number) for one in known)
        if number >= first and not any(
            call is None and number < max(one, default=-1) for call, one in zip(calls, known, strict=True)
        ):
            yield calls


def _sizes(call: Event) -> tuple[tuple[int, str], ...]:
    """Return the number and dtype of the entries that a call sends, where ranks must agree on it."""
    return tuple(_pairs(call)) if Shares.ONE_SIZE in shares(call.op) else ()


def _pairs(call: Event) -> Iterator[tuple[int, str]]:
    data = call.data
    for shape, dtype in zip(data.get("shapes", ()), data.get("dtypes", ()), strict=False):
        yield math.prod(shape), dtype


def sizes_text(call: Event) -> str:
    """Return the shapes and dtypes of a call: ``(6,) float32``."""
    pairs = zip(call.data.get("shapes", ()), call.data.get("dtypes", ()), strict=False)
    return ", ".join(f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)}) {dtype}" for shape, dtype in pairs)


# -- the same collectives, of the gradients of different parameters
@dataclass(frozen=True, slots=True)
class OtherOrder:
    """The first collective in which ranks sum the gradients of different parameters."""

    names: tuple[str, ...]
    """The parameter of each rank."""
    source: SourceLine | None


def other_order(replicas: Sequence[Replica]) -> OtherOrder | None:
    """Return where ranks reduce the same gradients in different orders, so that unrelated ones are summed."""
    reductions = [list(_reductions(one)) for one in replicas]
    counted = [Counter(name for name, _ in one) for one in reductions]
    if len(replicas) < 2 or any(one != counted[0] for one in counted):
        return None
    for calls in zip(*reductions, strict=True):
        names = tuple(name for name, _ in calls)
        if len(set(names)) > 1:
            return OtherOrder(names, calls[0][1])
    return None


def _reductions(replica: Replica) -> Iterator[tuple[str, SourceLine | None]]:
    """Yield the gradient that each collective of the group of all ranks sums, in order."""
    for event in replica.events:
        if sums(event) and not event.data.get("group"):
            reduced = event.data.get("gradients_of", ())
            if len(reduced) == 1 and reduced[0] in replica.names:
                yield replica.names[reduced[0]], event.source
