"""Parameters that ranks hold copies of: where they part, and in which order their gradients were added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..columns import Plain
from ..snapshot import SourceLine
from .causes import cause_of
from .copies import REDUCING, Copies
from .parting import Cause, Parting


@dataclass(frozen=True, slots=True)
class Apart:
    """Parameters that are not the same on all ranks, though they were meant to be."""

    names: tuple[str, ...]
    why: str
    """``start``: they never were.  Else what makes them part: see ``causes``."""
    step: int
    """Number of the optimizer step before or after which they differ, from 0."""
    source: SourceLine | None
    """The line to blame, ``at`` that of the step."""
    at: SourceLine | None
    detail: str = ""
    """What is to be filled into the words for it: the class of a wrapper, an operation."""
    other: SourceLine | None = None
    """Another line that has to do with it."""
    runs: tuple[int, ...] = ()
    """Those that differ from the others, where that is known."""

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values."""
        places = {"source": self.source and self.source.plain(), "at": self.at and self.at.plain()}
        return {"names": list(self.names), "why": self.why, "step": self.step, "runs": list(self.runs), **places}


@dataclass(frozen=True, slots=True)
class OtherTurn:
    """The first collective in which ranks add up the gradients of different parameters."""

    names: tuple[str, ...]
    """One for each rank."""
    source: SourceLine | None


def replicas_apart(told: Sequence[Copies]) -> Apart | None:
    """Return the parameters that part, None where all copies stay alike or nothing shows that they should."""
    if len(told) < 2 or not all(one.together for one in told):
        return None
    for cohort in _cohorts(told):
        found = _apart([told[number] for number in cohort], cohort)
        if found is not None:
            return found
    return None


def _cohorts(told: Sequence[Copies]) -> list[list[int]]:
    """Return the runs that hold copies of the same parameters: those of the groups of their wrappers, else all."""
    groups: dict[tuple[int, ...] | None, list[int]] = {}
    for number, one in enumerate(told):
        members = next((wrapper.members for wrapper in one.wrapped.values()), None)
        groups.setdefault(members, []).append(number)
    return [cohort for cohort in groups.values() if len(cohort) > 1]


def _apart(told: list[Copies], cohort: Sequence[int]) -> Apart | None:
    """Return what parts among ranks that hold copies of the same parameters."""
    common = set.intersection(*({name for name, held in one.held.items() if held} for one in told))
    places: dict[int, list[str]] = {}
    unlike: list[str] = []
    for name in sorted(common):
        place = _parted_at([one.held[name] for one in told])
        if place == -1:
            unlike.append(name)
        elif place is not None:
            places.setdefault(place, []).append(name)
    for place in sorted(places):
        found = cause_of(Parting(told, tuple(places[place]), (place + 1) // 2, written=bool(place % 2)))
        if found is not None:
            return _made(told, cohort, found, places[place])
    return _never_alike(told, cohort, unlike)


def _parted_at(rows: Sequence[Sequence[tuple[int, int, int]]]) -> int | None:
    """Return where copies part for good: twice the number of the step that does it, one more if it is after that.

    -1 if they never were alike, None if they are in the end or found together on the way.
    """
    count = min(map(len, rows))
    states = [len({held[step][at] for held in rows}) == 1 for step in range(count) for at in (1, 2)]
    if states[-1]:
        return None
    alike = sum(states)
    return None if not all(states[:alike]) else alike // 2 * 2 if alike % 2 else alike - 1


def _made(told: list[Copies], cohort: Sequence[int], found: Cause, names: Sequence[str]) -> Apart:
    """Return what parts, with its cause, in the numbers of all runs."""
    first = told[0]
    held = first.held[names[0]]
    at = first.events[held[min(found.step, len(held) - 1)].row].source
    runs = tuple(cohort[number] for number in found.ranks)
    return Apart(tuple(found.names), found.why, found.step, found.source, at, found.detail, found.other, runs)


def _never_alike(told: list[Copies], cohort: Sequence[int], unlike: list[str]) -> Apart | None:
    """Return what differs from the beginning although gradients of it are added up."""
    wrapped = [name for name in unlike if all(name in one.wrapped for one in told)]
    if wrapped:
        found = cause_of(Parting(told, tuple(wrapped), 0, written=True))
        return None if found is None else _made(told, cohort, found, wrapped)
    names = [name for name in unlike if all(name in one.reduced for one in told)]
    if not names or any(one.wrapped for one in told):
        return None
    first = told[0]
    line = first.events[first.reduced[names[0]][0]].source
    return Apart(tuple(names), "start", 0, line, first.events[first.held[names[0]][0].row].source)


def copies_at_first(told: Sequence[Copies]) -> dict[str, bool]:
    """Return name -> whether all ranks held the same before their first step, as far as they tell."""
    names = set.intersection(*(set(one.held) for one in told)) if told else set()
    return {name: len({one.held[name][0].before for one in told}) == 1 for name in names}


def other_turn(told: Sequence[Copies]) -> OtherTurn | None:
    """Return where ranks that add up the same gradients do so in different orders: what meets is not alike."""
    turns = [list(_turns(one)) for one in told]
    counted = [Counter(name for name, _ in one) for one in turns]
    if len(told) < 2 or any(one != counted[0] for one in counted):
        return None
    for calls in zip(*turns, strict=True):
        names = tuple(name for name, _ in calls)
        if len(set(names)) > 1:
            return OtherTurn(names, calls[0][1])
    return None


def _turns(told: Copies) -> Iterator[tuple[str, SourceLine | None]]:
    """Yield which gradient each collective of the group of all ranks adds up, in their order."""
    for event in told.events:
        if event.kind == "collective" and event.op in REDUCING and not event.data.get("group"):
            reduced = event.data.get("gradients_of", ())
            if len(reduced) == 1:
                yield told.names[reduced[0]], event.source
