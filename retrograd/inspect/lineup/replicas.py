"""Parameters that ranks hold copies of: where they part, and in which order their gradients were added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..align import plain_name
from ..columns import Plain
from ..events import Event
from ..program.arguments import calls_argument
from ..snapshot import SourceLine
from .run import Run

REDUCING = frozenset({"all_reduce", "reduce_scatter", "reduce_scatter_tensor", "reduce"})


@dataclass(frozen=True, slots=True)
class Apart:
    """Parameters that are not the same on all ranks, though they were meant to be."""

    names: tuple[str, ...]
    why: str
    """``start``: they never were.  ``past wrapper``, ``no_sync``, ``not reduced``: steps made them part."""
    step: int
    """Number of the optimizer step before or after which they differ, from 0."""
    source: SourceLine | None
    """The line to blame, ``at`` that of the step."""
    at: SourceLine | None
    wrapper: str = ""
    """The class of the wrapper that was to keep them alike."""

    def to_plain(self) -> dict[str, Plain]:
        """Return it as JSON values."""
        places = {"source": self.source and self.source.plain(), "at": self.at and self.at.plain()}
        return {"names": list(self.names), "why": self.why, "step": self.step, **places}


@dataclass(frozen=True, slots=True)
class OtherTurn:
    """The first collective in which ranks add up the gradients of different parameters."""

    names: tuple[str, ...]
    """One for each rank."""
    source: SourceLine | None


@dataclass(slots=True)
class _Copies:
    """What one rank tells of its parameters."""

    held: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Name -> what it held before and after each step."""
    steps: list[tuple[int, Event]] = field(default_factory=list)
    """Rows of the steps."""
    wrapped: set[str] = field(default_factory=set)
    reduced: dict[str, SourceLine | None] = field(default_factory=dict)
    """Name -> a line that adds its gradients up over ranks."""
    together: bool = False
    """Whether it is one of several in a group."""
    sends: bool = False
    """Whether it ever sent a tensor."""


def replicas_apart(runs: Sequence[Run]) -> Apart | None:
    """Return the parameters that part, None where all copies stay alike or nothing shows that they should."""
    told = [_copies(run) for run in runs]
    if len(runs) < 2 or not all(one.together for one in told):
        return None
    common = set.intersection(*({name for name, held in one.held.items() if held} for one in told))
    first: dict[str, int] = {}
    unlike: list[str] = []
    for name in sorted(common):
        rows = [one.held[name] for one in told]
        count = min(map(len, rows))
        before = [len({held[step][0] for held in rows}) == 1 for step in range(count)]
        after = [len({held[step][1] for held in rows}) == 1 for step in range(count)]
        if not any(before) and not after[-1]:
            unlike.append(name)
        elif before[0] and not after[-1]:
            parted = max(step for step in range(count) if before[step])
            if sum(before[1:]) == parted:  # they never found together again
                first[name] = parted
    return _parted(runs, told, first) or _never_alike(runs, told, unlike)


def copies_at_first(runs: Sequence[Run]) -> dict[str, bool]:
    """Return name -> whether all ranks held the same before their first step, as far as they tell."""
    told = [_copies(run).held for run in runs]
    names = set.intersection(*map(set, told)) if told else set()
    return {name: len({held[name][0][0] for held in told}) == 1 for name in names}


def _parted(runs: Sequence[Run], told: list[_Copies], first: dict[str, int]) -> Apart | None:
    """Return what became unlike, if a wrapper was to keep it alike or nothing was sent at all."""
    wrapped = set.intersection(*(one.wrapped for one in told))
    silent = not any(one.sends or one.wrapped for one in told)
    names = [name for name in first if name in wrapped or silent]
    if not names:
        return None
    step = min(first[name] for name in names)
    run, copies = runs[0], told[0]
    events = run.recording.events
    row, event = copies.steps[min(step, len(copies.steps) - 1)]
    begun = [one for one in events[:row] if one.kind == "backward" and one.data.get("api") == "backward"]
    line = begun[-1].source if begun else event.source
    if silent:
        return Apart(tuple(names), "not reduced", step, line, event.source)
    types = {one.op for one in events if one.kind == "wrapper"}
    if not any(one.kind == "module" and one.data.get("type") in types for one in events):
        return Apart(tuple(names), "past wrapper", step, _forward_line(events[:row]) or line, event.source, min(types))
    off = [one for one in events[:row] if one.kind == "collective" and one.op == "no_sync"]
    if not off:
        return None  # its reducer may have been replaced, by a hook of the program
    return Apart(tuple(names), "no_sync", step, off[-1].source, event.source)


def _forward_line(events: Sequence[Event]) -> SourceLine | None:
    """Return the line that last called a module inside a wrapper, whose function got that module from nobody."""
    wrapped = {number for one in events if one.kind == "wrapper" for number in one.data["inputs"]}
    for event in reversed(events):
        if "nodes" in event.data and not wrapped.isdisjoint(event.data.get("inputs", ())):
            frames = [SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ())]
            inside = max((place + 1 for place, one in enumerate(frames) if one.function == "forward"), default=0)
            return next((one for one in frames[inside:] if not calls_argument(one.file, one.line)), None)
    return None


def _never_alike(runs: Sequence[Run], told: list[_Copies], unlike: list[str]) -> Apart | None:
    """Return what differs from the beginning although gradients of it are added up."""
    names = [name for name in unlike if all(name in one.reduced for one in told)]
    if not names or any(one.wrapped for one in told):
        return None
    line = told[0].reduced[names[0]]
    return Apart(tuple(names), "start", 0, line, told[0].steps[0][1].source)


def _copies(run: Run) -> _Copies:
    """Gather what one rank tells."""
    found, tensors = _Copies(), run.recording.tensors
    for row, event in enumerate(run.recording.events):
        data = event.data
        if event.kind == "optimizer" and data.get("action") == "step" and "held_after" in data:
            found.steps.append((row, event))
            before = data.get("held_before", {})
            for key, after in data["held_after"].items():
                name = plain_name(tensors[int(key)].name)
                if name and key in before:
                    found.held.setdefault(name, []).append((before[key], after))
        elif event.kind == "wrapper" and not data.get("sharded"):
            found.wrapped.update(plain_name(tensors[number].name) or "" for number in data["inputs"])
        elif event.kind == "collective":
            found.together = found.together or data.get("group_size", 1) > 1
            found.sends = found.sends or bool(data.get("inputs"))
            if event.op in REDUCING:
                found.reduced.update({plain_name(name) or "": event.source for name in data.get("gradients_of", ())})
    return found


def other_turn(runs: Sequence[Run]) -> OtherTurn | None:
    """Return where ranks that add up the same gradients do so in different orders: what meets is not alike."""
    turns = [list(_turns(run)) for run in runs]
    counted = [Counter(name for name, _ in one) for one in turns]
    if len(runs) < 2 or any(one != counted[0] for one in counted):
        return None
    for calls in zip(*turns, strict=True):
        names = tuple(name for name, _ in calls)
        if len(set(names)) > 1:
            return OtherTurn(names, calls[0][1])
    return None


def _turns(run: Run) -> Iterator[tuple[str, SourceLine | None]]:
    """Yield which gradient each collective of the group of all ranks adds up, in their order."""
    for event in run.recording.events:
        if event.kind == "collective" and event.op in REDUCING and not event.data.get("group"):
            named = event.data.get("gradients_of", ())
            if len(named) == 1:
                yield plain_name(named[0]) or "", event.source
