"""Puts recordings of ranks in order, together with dumps of PyTorch's flight recorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..recording.events import Event, Recording
from ..recording.flight_recorder import ENGINE
from .lineup import of_a_job, ranges


def in_order(recordings: Sequence[Recording]) -> list[Recording]:
    """Return one recording for each rank, in the order of their numbers; files are named in that of letters."""
    merged = with_dumps(recordings)
    ranks = [one.rank for one in merged if of_a_job(one) and one.rank is not None]
    unlike = len(set(ranks)) == len(merged)
    return sorted(merged, key=lambda one: one.rank or 0) if unlike else merged


def with_dumps(recordings: Sequence[Recording]) -> list[Recording]:
    """Return one recording for each rank: what it recorded itself, and what a dump of it knows of collectives.

    A dump counts what PyTorch sends by itself as well, so that its numbers are not those of recordings: dumps are left
    out where a recording has none beside it.
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
    """Return a recording whose collectives are numbered as its dump has them."""
    return replace(own, events=[*map(_unnumbered, own.events), *_with_lines(own, dump)])


def _unnumbered(event: Event) -> Event:
    if event.kind != "collective" or "sequence" not in event.data:
        return event
    return replace(event, data={key: value for key, value in event.data.items() if key not in ("sequence", "pending")})


def _with_lines(own: Recording, dump: Recording) -> Iterator[Event]:
    """Yield the events of a dump; one that waits and has no line, for C++ called it, gets that of the last backward."""
    lines = [event.source for event in own.events if event.kind == "backward" and event.source is not None]
    for event in dump.events:
        waits = event.source is None and event.data.get("pending") and lines
        yield replace(event, source=lines[-1]) if waits else event
