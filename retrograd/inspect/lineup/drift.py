"""Finds replicas of parameters that do not stay equal on all ranks: the first step, the parameters and the cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..graphs.columns import Plain
from ..program.places import SourceLine
from .drift_causes import Cause, Drift, cause_of, in_module
from .replica import Held, Replica


@dataclass(frozen=True, slots=True)
class DriftedReplicas:
    """Parameters that differ between ranks although they should be equal."""

    names: tuple[str, ...]
    why: str
    """``start`` if they were never equal; otherwise the cause: see ``drift_causes``."""
    step: int
    """Number of the optimizer step before or after which they differ, from 0."""
    source: SourceLine | None
    """The line of the cause; ``at`` is that of the step."""
    at: SourceLine | None
    detail: str = ""
    """Used in the message: the class of a wrapper, an operation."""
    other: SourceLine | None = None
    """Another line that is involved."""
    runs: tuple[int, ...] = ()
    """The ranks that differ from the others, if known."""

    def to_plain(self) -> dict[str, Plain]:
        """Return the fields as JSON values."""
        places = {"source": self.source and self.source.plain(), "at": self.at and self.at.plain()}
        return {"names": list(self.names), "why": self.why, "step": self.step, "runs": list(self.runs), **places}


def drifted_replicas(replicas: Sequence[Replica]) -> DriftedReplicas | None:
    """Return the parameters that diverge first, None if all stay equal or nothing shows that they should."""
    if len(replicas) < 2 or not all(one.together for one in replicas):
        return None
    for cohort in _cohorts(replicas):
        found = _first_drift([replicas[number] for number in cohort], cohort)
        if found is not None:
            return found
    return None


def _cohorts(replicas: Sequence[Replica]) -> list[list[int]]:
    """Return the runs that hold replicas of the same parameters: those of the groups of their wrappers, else all."""
    groups: dict[tuple[int, ...] | None, list[int]] = {}
    for number, one in enumerate(replicas):
        members = next((wrapper.members for wrapper in one.wrapped.values()), None)
        groups.setdefault(members, []).append(number)
    return [cohort for cohort in groups.values() if len(cohort) > 1]


class _Place(NamedTuple):
    """A position in the steps of a parameter: after the step with this number, or ``written`` before it."""

    step: int
    made_by_step: bool


_FROM_THE_START = _Place(-1, made_by_step=False)


def _first_drift(replicas: list[Replica], cohort: Sequence[int]) -> DriftedReplicas | None:
    """Return the first divergence among ranks that hold replicas of the same parameters."""
    common = set.intersection(*({name for name, held in one.held.items() if held} for one in replicas))
    places: dict[_Place, list[str]] = {}
    for name in sorted(common):
        place = _diverged_at([one.held[name] for one in replicas])
        if place is not None:
            places.setdefault(place, []).append(name)
    never_equal = places.pop(_FROM_THE_START, [])
    for place, names in sorted(places.items()):
        cause = cause_of(Drift(replicas, tuple(names), place.step, written=not place.made_by_step))
        if cause is not None:
            return _described(replicas, cohort, cause, names)
    return _never_equal(replicas, cohort, never_equal)


def _diverged_at(rows: Sequence[Sequence[Held]]) -> _Place | None:
    """Return where the replicas of one parameter diverge for good, None if they end equal."""
    count = min(map(len, rows))
    equal = [len({held[step][at] for held in rows}) == 1 for step in range(count) for at in (1, 2)]
    first = equal.index(False) if False in equal else len(equal)
    if equal[-1] or any(equal[first:]):
        return None
    return _Place(first // 2, made_by_step=bool(first % 2)) if first else _FROM_THE_START


def _described(replicas: list[Replica], cohort: Sequence[int], cause: Cause, names: Sequence[str]) -> DriftedReplicas:
    """Return a divergence with its cause, in terms of all runs."""
    first = replicas[0]
    held = first.held[names[0]]
    at = first.events[held[min(cause.step, len(held) - 1)].row].source
    runs = tuple(cohort[number] for number in cause.ranks)
    return DriftedReplicas(tuple(cause.names), cause.why, cause.step, cause.source, at, cause.detail, cause.other, runs)


def _never_equal(replicas: list[Replica], cohort: Sequence[int], unequal: list[str]) -> DriftedReplicas | None:
    """Return parameters that differ from the start although their gradients are all-reduced."""
    wrapped = [name for name in unequal if all(name in one.wrapped for one in replicas)]
    if wrapped:
        cause = cause_of(Drift(replicas, tuple(wrapped), 0, written=True))
        return None if cause is None else _described(replicas, cohort, cause, wrapped)
    names = [name for name in unequal if all(name in one.reduced for one in replicas)]
    if not names or any(one.wrapped for one in replicas):
        return None
    first = replicas[0]
    made = first.run.recording.tensors[first.numbers[names[0]]].source
    summed = first.events[first.reduced[names[0]][0]].source
    line = summed if made is None or in_module(made) else made
    return DriftedReplicas(tuple(names), "start", 0, line, first.events[first.held[names[0]][0].row].source)


def equal_at_first(replicas: Sequence[Replica]) -> dict[str, bool]:
    """Return for each name whether all ranks held the same values before their first step, where recorded."""
    names = set.intersection(*(set(one.held) for one in replicas)) if replicas else set()
    return {name: len({one.held[name][0].before for one in replicas}) == 1 for name in names}
