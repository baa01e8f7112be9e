"""Why copies of parameters part: what the ranks did between two steps, held against what would have kept them alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..events import Event
from ..program.arguments import calls_argument
from ..snapshot import SourceLine
from .copies import REDUCING, Copies


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


def cause_of(parting: Parting) -> Cause | None:
    """Return why copies part, None where nothing shows that they were to stay alike."""
    found = (why(parting) for why in ((_written,) if parting.written else _BY_STEP))
    return next((cause for cause in found if cause is not None), None)


# -- written between two steps
def _written(parting: Parting) -> Cause | None:
    """Something wrote into a parameter on some ranks, or something else on each."""
    names = [name for name in parting.names if _kept_alike(parting.told, name)]
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


def _kept_alike(told: Sequence[Copies], name: str) -> bool:
    """Whether a wrapper, or a sum of gradients by hand, keeps a parameter alike on all ranks."""
    return all(name in one.wrapped or name in one.reduced for one in told)


def _writes(one: Copies, window: range, number: int) -> Iterator[tuple[SourceLine, str]]:
    """Yield the lines that write into a parameter, and by what."""
    begin = max(
        window.start, max((wrapper.row for wrapper in one.wrapped.values()), default=0) if not window.start else 0
    )
    for _, event in one.of_kind(range(begin, window.stop), "inplace", "leaf", "load", "collective"):
        data = event.data
        hit = {data.get("target"), data.get("tensor") if data.get("change") == "written" else None}
        if event.kind == "load" or (event.kind == "collective" and event.op in ("broadcast", "all_reduce")):
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


def _thawed(parting: Parting) -> Cause | None:
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


def _hooks_lost(parting: Parting) -> Cause | None:
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


def _past(parting: Parting) -> Cause | None:
    """What parameters were used for did not go through their wrapper."""
    names = [name for name in parting.names if all(name in one.wrapped for one in parting.told)]
    if not names or not all(_passes(one, names[0], parting.step) for one in parting.told):
        return None
    one = parting.told[0]
    row = one.held[names[0]][parting.step].row
    line = _forward_line(one, one.events[:row], names) or _backward_line(one.events[:row])
    return parting.cause("past wrapper", line, names, detail=one.wrapped[names[0]].event.op)


def _passes(one: Copies, name: str, step: int) -> bool:
    """Whether all calls that took a parameter before a step were outside of its wrapper."""
    number, kind = one.numbers[name], one.wrapped[name].event.op
    called = [event for event in one.events if event.kind == "module" and event.data.get("type") == kind]
    scopes = [str(event.data.get("scope")) for event in called if number in event.data.get("parameters", {}).values()]
    if not called:
        return True
    calls = [event for _, event in one.of_kind(one.window(name, step), "operation")]
    taking = [event for event in calls if number in event.data.get("inputs", ()) and "nodes" in event.data]
    return bool(taking) and not any(
        f"{event.data.get('scope', '')}/".startswith(f"{scope}/") for event in taking for scope in scopes
    )


def _forward_line(one: Copies, events: Sequence[Event], names: Sequence[str]) -> SourceLine | None:
    """Return the line that last called a module inside a wrapper, whose function got that module from nobody."""
    wrapped = {one.numbers[name] for name in names}
    for event in reversed(events):
        if "nodes" in event.data and not wrapped.isdisjoint(event.data.get("inputs", ())):
            frames = [SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ())]
            inside = max((place + 1 for place, one in enumerate(frames) if one.function == "forward"), default=0)
            return next((one for one in frames[inside:] if not calls_argument(one.file, one.line)), None)
    return None


def _backward_line(events: Sequence[Event]) -> SourceLine | None:
    """Return the line of the last call of ``backward``."""
    begun = (event for event in reversed(events) if event.kind == "backward" and event.data.get("api") == "backward")
    return next((event.source for event in begun), None)


def _unsynced(parting: Parting) -> Cause | None:
    """A wrapper was told not to reduce."""
    names = [name for name in parting.names if all(name in one.wrapped for one in parting.told)]
    if names:
        one, window = next(parting.windows(names[0]))
        off = [event.source for _, event in one.of_kind(window, "collective") if event.op == "no_sync"]
        if off:
            return parting.cause("no_sync", off[-1], names)
    return None


def _outside(parting: Parting) -> Cause | None:
    """Parameters were put into a module after it was wrapped."""
    names = [name for name in parting.names if all(name in one.inside for one in parting.told)]
    if not names:
        return None
    one = parting.told[0]
    wrapper = one.inside[names[0]].event
    made = one.run.recording.tensors[one.numbers[names[0]]].source
    return parting.cause("made later", made or wrapper.source, names, detail=wrapper.op, other=wrapper.source)


def _by_hand(parting: Parting) -> Cause | None:
    """Gradients are added up by hand: not of all parameters, or not between backward and the step."""
    one = parting.told[0]
    if not one.reduced or any(name in one.wrapped for name in parting.names):
        return None
    names = [name for name in parting.names if all(name in each.reduced for each in parting.told)]
    if names:
        return _untimely(parting, names)
    reduced = [row for rows in one.reduced.values() for row in rows]
    _, window = next(parting.windows(parting.names[0]))
    line = next((one.events[row].source for row in reduced if row in window), None)
    return parting.cause("left out", line) if line is not None and _of_one_module(one, parting.names) else None


def _of_one_module(one: Copies, names: Sequence[str]) -> bool:
    """Whether one module holds parameters together with some whose gradients are added up: others may be meant so."""
    numbers = {one.numbers[name] for name in names}
    reduced = {one.numbers[name] for name in one.reduced if name in one.numbers}
    held = [set(event.data.get("parameters", {}).values()) for event in one.events if event.kind == "module"]
    return any(numbers <= inside and not reduced.isdisjoint(inside) for inside in held)


def _untimely(parting: Parting, names: Sequence[str]) -> Cause | None:
    """Gradients are added up after the step, before all of them are there, or in too small a group."""
    one, window = next(parting.windows(names[0]))
    rows, number = one.reduced[names[0]], one.numbers[names[0]]
    timely = [row for row in rows if row in window]
    arrived = [row for row, event in one.of_kind(window, "accumulate") if event.data.get("tensor") == number]
    last = one.events[(timely or rows)[-1]]
    step = one.events[one.held[names[0]][parting.step].row]
    if arrived and not any(row > arrived[0] for row in timely):
        return parting.cause("too late", last.source, names, detail=last.op, other=step.source)
    if arrived and not any(row > arrived[-1] for row in timely):
        return parting.cause("too early", last.source, names, detail=last.op, other=one.events[arrived[-1]].source)
    if last.data.get("group_size", 0) < (one.run.recording.world_size or 0):
        return parting.cause("small group", last.source, names, detail=last.op)
    return None


def _copied(parting: Parting) -> Cause | None:
    """What is added up is as large as the gradients, but no gradient, and nothing is written back."""
    lines: list[SourceLine | None] = []
    if any(name in one.wrapped for name in parting.names for one in parting.told):
        return None  # whose reducer may have been replaced, by a hook of the program
    for name in parting.names:
        for one, window in parting.windows(name):
            size = math.prod(one.run.recording.tensors[one.numbers[name]].shape)
            sums = [(row, event) for row, event in one.of_kind(window, "collective") if event.op in REDUCING]
            fitting = [(row, event) for row, event in sums if size in map(math.prod, event.data.get("shapes", ()))]
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


def _silent(parting: Parting) -> Cause | None:
    """Nothing was ever reduced."""
    alone = next((one.alone for one in parting.told if one.alone), None)
    if alone is not None:
        return parting.cause("group of one", alone.source, detail=alone.op)
    if any(one.sends or one.wrapped for one in parting.told):
        return None
    one = parting.told[0]
    row = one.held[parting.names[0]][parting.step].row
    return parting.cause("not reduced", _backward_line(one.events[:row]) or one.events[row].source)


_BY_STEP: tuple[Callable[[Parting], Cause | None], ...] = (
    *(_settings, _changed, _thawed, _hooks_lost, _past, _unsynced, _outside, _by_hand, _copied, _silent),
)
"""What may be the reason, the most certain first."""
