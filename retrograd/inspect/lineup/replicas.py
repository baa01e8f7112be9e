"""Parameters of which every rank holds a copy: where the copies diverge, and in which order gradients were reduced."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..graphs.columns import Plain
from ..operators.collectives import Shares, shares
from ..program.assignments import calls_argument, in_class_with
from ..program.places import SourceLine
from ..recording.events import Event
from .copies import Copies, sums
from .meetings import Cause, Parting, backward_line, by_hand, copied, kept_alike, losses_only, silent


def thawed(parting: Parting) -> Cause | None:
    """The wrapper was made when parameters did not require grad."""
    frozen = [name for name in parting.names if all(_is_in(one, name, "untrained") for one in parting.told)]
    if not frozen:
        return None
    one = parting.told[0]
    number, wrapper = one.numbers[frozen[0]], one.wrapped[frozen[0]]
    later = one.of_kind(range(wrapper.row, len(one.events)), "leaf")
    line = next((event.source for _, event in later if event.data.get("tensor") == number), None)
    made = wrapper.event
    return parting.cause("thawed", line or made.source, frozen, detail=made.op, other=made.source)


def _is_in(one: Copies, name: str, key: str) -> bool:
    """Whether a wrapper counts a parameter among those of a key."""
    wrapper = one.wrapped.get(name)
    return wrapper is not None and one.numbers[name] in wrapper.event.data.get(key, ())


def hooks_lost(parting: Parting) -> Cause | None:
    """The memory of parameters was exchanged for one of another dtype, and the wrapper's hooks with it."""
    one = parting.told[0]
    tensors = one.run.recording.tensors
    for name in parting.names:
        wrapper = one.wrapped.get(name)
        if wrapper is not None:
            for _, event in one.of_kind(range(wrapper.row, one.held[name][parting.step].row), "leaf"):
                given = event.data.get("given")
                if event.data.get("tensor") == one.numbers[name] and given is not None:
                    dtypes = tensors[one.numbers[name]].dtype, tensors[given].dtype
                    if dtypes[0] != dtypes[1]:
                        detail, other = f"{wrapper.event.op}", wrapper.event.source
                        return parting.cause("hooks lost", event.source, detail=detail, other=other)
    return None


def past(parting: Parting) -> Cause | None:
    """What parameters were used for did not go through their wrapper."""
    names = [name for name in parting.names if all(name in one.wrapped for one in parting.told)]
    if not names or not all(_passes(one, names[0], parting.step) for one in parting.told):
        return None
    one = parting.told[0]
    row = one.held[names[0]][parting.step].row
    line = _forward_line(one, one.events[:row], names) or backward_line(one.events[:row])
    return parting.cause("past wrapper", line, names, detail=one.wrapped[names[0]].event.op)


def _passes(one: Copies, name: str, step: int) -> bool:
    """Whether a wrapper was never called, or what is inside of it was called for itself, with history, before a step.

    The scopes of calls do not tell: they are places in the outermost module, whoever called what is inside.
    """
    number, kind = one.numbers[name], one.wrapped[name].event.op
    if not any(event.kind == "module" and event.data.get("type") == kind for event in one.events):
        return True
    window = one.window(name, step)
    for row, event in one.of_kind(window, "module"):
        if event.data.get("type") != kind and number in event.data.get("parameters", {}).values():
            later = one.of_kind(range(row, window.stop), "operation", "cut")
            call = next((call for _, call in later if number in call.data.get("inputs", ())), None)
            if call is not None and "nodes" in call.data:
                return True
    return False


def _forward_line(one: Copies, events: Sequence[Event], names: Sequence[str]) -> SourceLine | None:
    """Return the line that last called a module inside a wrapper, whose function got that module from nobody."""
    wrapped = {one.numbers[name] for name in names}
    for event in reversed(events):
        if "nodes" in event.data and not wrapped.isdisjoint(event.data.get("inputs", ())):
            frames = [SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ())]
            outside = (one for one in frames or filter(None, [event.source]) if not _in_module(one))
            return next((one for one in outside if not calls_argument(one.file, one.line)), None)
    return None


def _in_module(line: SourceLine) -> bool:
    """Whether a line is a module's own, so that others chose to call it."""
    return line.function == "forward" or in_class_with("forward", line.file, line.line)


def unsynced(parting: Parting) -> Cause | None:
    """An event: a wrapper was switched to not reducing gradients."""
    names = [name for name in parting.names if all(name in one.wrapped for one in parting.told)]
    if names:
        one, window = next(parting.windows(names[0]))
        off = [event.source for _, event in one.of_kind(window, "collective") if event.op == "no_sync"]
        if off:
            return parting.cause("no_sync", off[-1], names)
    return None


def outside(parting: Parting) -> Cause | None:
    """Parameters were put into a module after it was wrapped."""
    names = [name for name in parting.names if all(name in one.inside for one in parting.told)]
    if not names:
        return None
    one = parting.told[0]
    wrapper = one.inside[names[0]].event
    made = one.run.recording.tensors[one.numbers[names[0]]].source
    return parting.cause("made later", made or wrapper.source, names, detail=wrapper.op, other=wrapper.source)


def cause_of(parting: Parting) -> Cause | None:
    """Return why copies part, None where nothing shows that they were to stay alike."""
    found = (why(parting) for why in ((_written,) if parting.written else _BY_STEP))
    return next((cause for cause in found if cause is not None), None)


# -- written between two steps
def _written(parting: Parting) -> Cause | None:
    """Something wrote into a parameter on some ranks, or something else on each."""
    names = [name for name in parting.names if kept_alike(parting.told, name)]
    if not names:
        return None
    writes = [dict(_writes(one, window, one.numbers[names[0]])) for one, window in parting.windows(names[0])]
    for line, op in {line: op for one in writes for line, op in one.items()}.items():
        ranks = tuple(number for number, one in enumerate(writes) if line in one)
        if len(ranks) < len(writes):
            return parting.cause("written alone", line, names, detail=op, ranks=ranks)
    last = [list(one.items())[-1] for one in writes if one]
    if len(last) < len(writes):
        return None  # by a library, or by other processes
    return parting.cause("written unlike", last[0][0], names, detail=last[0][1])


def _writes(one: Copies, window: range, number: int) -> Iterator[tuple[SourceLine, str]]:
    """Yield the lines that write into a parameter, and by what."""
    begin = max(
        window.start, max((wrapper.row for wrapper in one.wrapped.values()), default=0) if not window.start else 0
    )
    for _, event in one.of_kind(range(begin, window.stop), "inplace", "leaf", "load", "collective"):
        data = event.data
        hit = {data.get("target"), data.get("tensor") if data.get("change") == "written" else None}
        if event.kind == "load" or (event.kind == "collective" and Shares.SAME in shares(event.op)):
            hit.update(data.get("inputs", ()))
        if event.source is not None and number in hit:
            yield event.source, event.op if event.kind != "load" else "load_state_dict"


# -- made unlike by a step
def _settings(parting: Parting) -> Cause | None:
    """The optimizers of ranks have different settings."""
    steps = [one.events[one.held[parting.names[0]][parting.step].row] for one in parting.told]
    for of_ranks in zip(*(step.data.get("settings", ()) for step in steps), strict=False):
        for key in of_ranks[0]:
            values = [one.get(key) for one in of_ranks]
            if any(value != values[0] for value in values):
                lines = [step.data.get("set_at") for step in steps]
                source = next((SourceLine(*line) for line in reversed(lines) if line), steps[0].source)
                said = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8])
                return parting.cause("settings", source, detail=f"{key} is {said}")
    return None


def _changed(parting: Parting) -> Cause | None:
    """Gradients were alike on all ranks, and were changed on each by another factor, or other numbers."""
    names = [name for name in parting.names if _equal_gradients(parting, name)]
    if not names:
        return None
    one, window = next(parting.windows(names[0]))
    arrived = max((row for row, _ in one.of_kind(window, "backward-end")), default=window.start)
    number = one.numbers[names[0]]
    for _, event in one.of_kind(range(arrived, window.stop), "clip"):
        if number in event.data.get("inputs", ()):
            return parting.cause("clipped", event.source, names, detail=event.op)
    for _, event in one.of_kind(range(arrived, window.stop), "inplace"):
        if event.data.get("gradient_of") == number:
            return parting.cause("changed", event.source, names, detail=event.op)
    return None


def _equal_gradients(parting: Parting, name: str) -> bool:
    """Whether the gradient of a parameter had one norm on all ranks when the last backward pass was over."""
    norms = []
    for one, window in parting.windows(name):
        ends = [event.data.get("kept_norms", {}) for _, event in one.of_kind(window, "backward-end")]
        norm = ends[-1].get(str(one.numbers[name])) if ends else None
        if not isinstance(norm, (int, float)) or not norm:
            return False
        norms.append(float(norm))
    return all(math.isclose(norm, norms[0], rel_tol=1e-6) for norm in norms)


def _remembered(parting: Parting) -> Cause | None:
    """Gradients and settings were the same, so what the optimizers remember is not."""
    names = [name for name in parting.names if kept_alike(parting.told, name) and _equal_gradients(parting, name)]
    if len(names) < len(parting.names):
        return None
    one = parting.told[0]
    return parting.cause("remembered", one.events[one.held[names[0]][parting.step].row].source, names)


_BY_STEP: tuple[Callable[[Parting], Cause | None], ...] = (
    *(_settings, _changed, thawed, hooks_lost, past, unsynced, outside),
    *(by_hand, copied, losses_only, silent, _remembered),
)
"""What may be the reason, the most certain first."""


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
    made = first.run.recording.tensors[first.numbers[names[0]]].source
    summed = first.events[first.reduced[names[0]][0]].source
    line = summed if made is None or _in_module(made) else made
    return Apart(tuple(names), "start", 0, line, first.events[first.held[names[0]][0].row].source)


def copies_at_first(told: Sequence[Copies]) -> dict[str, bool]:
    """Return for each name whether all ranks held the same values before their first step, where recorded."""
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
        if sums(event) and not event.data.get("group"):
            reduced = event.data.get("gradients_of", ())
            if len(reduced) == 1 and reduced[0] in told.names:
                yield told.names[reduced[0]], event.source
