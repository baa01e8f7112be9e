"""``compared``: the differences between a run and one that works, as findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..diagnosis.text.words import listed
from ..findings import Finding
from ..recording.events import Recording
from .views import VIEWS, Key, View, steps_of

KIND = "differs-from-baseline"
MEANING = "this run does something else than the one that it is compared with, where both should do the same"
MOST = 12
"""Largest number of differences reported."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """Facts of one view with the same difference."""

    view: View
    keys: list[Key]
    here: Any
    there: Any
    row: int
    """Event index where this shows first; in the baseline if this run has no such fact."""
    recording_of_row: Recording
    """The recording that ``row`` belongs to."""


def compared(recording: Recording, baseline: Recording) -> list[Finding]:
    """Return how a run differs from one known to work, in the order of the events; notes come last.

    Other seeds, sizes, lengths and lines do not count as differences; parameters and modules must have the same
    names in both.
    """
    found: list[_Difference] = []
    covered: set[Key] = set()
    for view in VIEWS:
        found += _of_view(view, recording, baseline, covered)
    found.sort(key=lambda one: (one.view.note, one.row))
    return [_finding(one) for one in found[:MOST]]


def _of_view(view: View, recording: Recording, baseline: Recording, covered: set[Key]) -> Iterator[_Difference]:
    """Yield the differences of one view; equal ones are merged, and those already reported are left out."""
    sightings, theirs_seen = _seen(view, recording), _seen(view, baseline)
    here, there = _facts(view, sightings, recording), _facts(view, theirs_seen, baseline)
    if view.note:
        here = _in_measure(here, there)
    equal: dict[tuple[Any, ...], list[Key]] = defaultdict(list)
    for key in dict.fromkeys([*here, *there]):
        ours, theirs = here.get(key), there.get(key)
        if key not in covered and view.differs(ours, theirs):
            equal[key[1:], ours, theirs].append(key)
    for (_, ours, theirs), keys in equal.items():
        covered.update(keys)
        known = keys[0] in sightings
        row = _telling(sightings[keys[0]], theirs) if known else theirs_seen[keys[0]][0][1]
        yield _Difference(view, keys, ours, theirs, row, recording if known else baseline)


def _seen(view: View, recording: Recording) -> dict[Key, list[tuple[Any, int]]]:
    """Return the values and event indices of each key."""
    found: dict[Key, list[tuple[Any, int]]] = defaultdict(list)
    for key, value, row in view.see(recording):
        found[key].append((value, row))
    return found


def _facts(view: View, seen: dict[Key, list[tuple[Any, int]]], recording: Recording) -> dict[Key, Any]:
    steps = steps_of(recording)
    facts = ((key, view.fact([value for value, _ in found], steps)) for key, found in seen.items())
    return {key: fact for key, fact in facts if fact is not None}


def _telling(seen: list[tuple[Any, int]], theirs: Any) -> int:
    """Return the event index that shows a difference: the first beyond a count, or the first that is not empty."""
    if type(theirs) is int and len(seen) > theirs:
        return seen[theirs][1]
    return next((row for value, row in seen if value), seen[0][1])


def _in_measure(here: dict[Key, float], there: dict[Key, float]) -> dict[Key, float]:
    """Return counts of a run scaled as if it made as many calls a step as the baseline in most places."""
    usual = median([here[key] / there[key] for key in here.keys() & there.keys()] or [1.0])
    return {key: count / usual for key, count in here.items()}


def _finding(found: _Difference) -> Finding:
    """Return one difference as a finding."""
    subject = listed((key[0] for key in found.keys), most=3)
    source = found.recording_of_row.events[found.row].source
    return Finding(
        KIND,
        found.view.describe((subject, *found.keys[0][1:]), found.here, found.there),
        severity="note" if found.view.note else "warning",
        file="" if source is None else source.file,
        line=0 if source is None else source.line,
        evidence={"here": _shown(found.here), "baseline": _shown(found.there), "of": [key[0] for key in found.keys]},
    )


def _shown(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, frozenset) else value
