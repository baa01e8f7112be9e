"""``Parting``: parameters that diverge on some ranks at some step; ``Cause``: why they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..graphs.graph import SourceLine
from ..recording.events import Event
from .copies import Copies


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
