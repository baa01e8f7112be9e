"""Sorts recordings of ranks, and merges them with dumps of PyTorch's flight recorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..recording.events import Event, Recording
from ..recording.flight_recorder import ENGINE
from .lineup import of_a_job, ranges


def in_order(recordings: Sequence[Recording]) -> list[Recording]:
    """Return one recording for each rank, by rank; file names would be in alphabetical order."""
    merged = with_dumps(recordings)
    ranks = [one.rank for one in merged if of_a_job(one) and one.rank is not None]
    unlike = len(set(ranks)) == len(merged)
    return sorted(merged, key=lambda one: one.rank or 0) if unlike else merged


def with_dumps(recordings: Sequence[Recording]) -> list[Recording]:
    """Return one recording for each rank, with the collectives of its dump.

    A dump also counts what PyTorch sends internally, so its numbers are not those of recordings: if some recording has
    no dump, all dumps are left out.
    """
    dumps = {one.rank: one for one in recordings if one.engine == ENGINE}
    own = [one for one in recordings if one.engine != ENGINE]
    recorded = {one.rank for one in own}
    if not dumps or not recorded <= dumps.keys():
        return own or [*recordings]
    alone = [dump for rank, dump in dumps.items() if rank not in recorded]
    return [*(_merged(one, dumps[one.rank]) for one in own), *alone]


def left_out(recordings: Sequence[Recording]) -> list[str]:
    """Say which dumps ``with_dumps`` leaves out, and why."""
    dumps = {one.rank or 0 for one in recordings if one.engine == ENGINE}
    recorded = {one.rank or 0 for one in recordings if one.engine != ENGINE}
    if not dumps or recorded <= dumps:
        return []
    lacking, dropped = (", ".join(ranges(ranks)) for ranks in (recorded - dumps, dumps))
    why = f"there is none of {lacking}, and dumps number collectives otherwise than recordings do"
    return [f"the dumps of {dropped} are left out: {why}"]


def _merged(own: Recording, dump: Recording) -> Recording:
    """Return a recording whose collectives are numbered as in its dump."""
    return replace(own, events=[*map(_unnumbered, own.events), *_with_lines(own, dump)])


def _unnumbered(event: Event) -> Event:
    if event.kind != "collective" or "sequence" not in event.data:
        return event
    return replace(event, data={key: value for key, value in event.data.items() if key not in ("sequence", "pending")})


def _with_lines(own: Recording, dump: Recording) -> Iterator[Event]:
    """Yield the events of a dump; a waiting one without a line, called by C++, gets the line of the last backward."""
    lines = [event.source for event in own.events if event.kind == "backward" and event.source is not None]
    for event in dump.events:
        waits = event.source is None and event.data.get("pending") and lines
        yield replace(event, source=lines[-1]) if waits else event
