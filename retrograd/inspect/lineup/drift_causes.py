"""Why replicas of parameters drift apart: one function for each cause, which looks for it between two steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..operators.collectives import Shares, shares
from ..program.assignments import calls_argument, in_class_with
from ..program.places import SourceLine
from ..recording.events import Event
from .replica import Replica, sums


@dataclass(frozen=True, slots=True)
class Cause:
    """Why replicas diverge."""

    why: str
    source: SourceLine | None
    names: tuple[str, ...]
    step: int
    detail: str = ""
    other: SourceLine | None = None
    ranks: tuple[int, ...] = ()
    """Positions of ranks among the replicas."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Parameters that were equal on all ranks and differ after a step, or, if ``written``, before it."""

    replicas: Sequence[Replica]
    names: tuple[str, ...]
    step: int
    written: bool = False

    def windows(self, name: str) -> Iterator[tuple[Replica, range]]:
        """Yield for each rank the event indices between the previous step and this one."""
        return ((one, one.window(name, self.step)) for one in self.replicas)

    def cause(self, why: str, source: SourceLine | None, names: Sequence[str] = (), **more: object) -> Cause:
        """Return a cause for some of the names, or all."""
        return Cause(why, source, tuple(names) or self.names, self.step, **more)  # type: ignore[arg-type]


def cause_of(drift: Drift) -> Cause | None:
    """Return why replicas diverge, None if nothing shows that they should stay equal."""
    found = (why(drift) for why in ((_written,) if drift.written else _BY_STEP))
    return next((cause for cause in found if cause is not None), None)


def is_kept_equal(replicas: Sequence[Replica], name: str) -> bool:
    """Whether a wrapper, or gradients that are all-reduced explicitly, keep a parameter equal on all ranks."""
    return all(name in one.wrapped or name in one.reduced for one in replicas)


def backward_line(events: Sequence[Event]) -> SourceLine | None:
    """Return the line of the last call of ``backward``."""
    begun = (event for event in reversed(events) if event.kind == "backward" and event.data.get("api") == "backward")
    return next((event.source for event in begun), None)


# -- there is a wrapper, and it does not reduce these gradients
def thawed(drift: Drift) -> Cause | None:
    """The wrapper was made while parameters did not require grad."""
    frozen = [name for name in drift.names if all(_is_in(one, name, "untrained") for one in drift.replicas)]
    if not frozen:
        return None
    one = drift.replicas[0]
    number, wrapper = one.numbers[frozen[0]], one.wrapped[frozen[0]]
    later = one.of_kind(range(wrapper.row, len(one.events)), "leaf")
    line = next((event.source for _, event in later if event.data.get("tensor") == number), None)
    made = wrapper.event
    return drift.cause("thawed", line or made.source, frozen, detail=made.op, other=made.source)


def _is_in(one: Replica, name: str, key: str) -> bool:
    """Whether a wrapper lists a parameter under a key."""
    wrapper = one.wrapped.get(name)
    return wrapper is not None and one.numbers[name] in wrapper.event.data.get(key, ())


def hooks_lost(drift: Drift) -> Cause | None:
    """Parameters were converted to another dtype, which dropped the wrapper's hooks."""
    one = drift.replicas[0]
    tensors = one.run.recording.tensors
    for name in drift.names:
        wrapper = one.wrapped.get(name)
        if wrapper is not None:
            for _, event in one.of_kind(range(wrapper.row, one.held[name][drift.step].row), "leaf"):
                given = event.data.get("given")
                if event.data.get("tensor") == one.numbers[name] and given is not None:
                    dtypes = tensors[one.numbers[name]].dtype, tensors[given].dtype
                    if dtypes[0] != dtypes[1]:
                        detail, other = f"{wrapper.event.op}", wrapper.event.source
                        return drift.cause("hooks lost", event.source, detail=detail, other=other)
    return None


def past(drift: Drift) -> Cause | None:
    """Parameters were used without going through their wrapper."""
    names = [name for name in drift.names if all(name in one.wrapped for one in drift.replicas)]
    if not names or not all(_passes(one, names[0], drift.step) for one in drift.replicas):
        return None
    one = drift.replicas[0]
    row = one.held[names[0]][drift.step].row
    line = _forward_line(one, one.events[:row], names) or backward_line(one.events[:row])
    return drift.cause("past wrapper", line, names, detail=one.wrapped[names[0]].event.op)


def _passes(one: Replica, name: str, step: int) -> bool:
    """Whether a wrapper was never called, or its inner module was called directly, in grad mode, before a step.

    The scopes of calls do not show it: they are paths in the outermost module, whoever called the inner one.
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


def _forward_line(one: Replica, events: Sequence[Event], names: Sequence[str]) -> SourceLine | None:
    """Return the line that last called a module inside a wrapper directly."""
    wrapped = {one.numbers[name] for name in names}
    for event in reversed(events):
        if "nodes" in event.data and not wrapped.isdisjoint(event.data.get("inputs", ())):
            frames = [SourceLine(one["file"], one["line"], one["function"]) for one in event.data.get("stack", ())]
            outside = (one for one in frames or filter(None, [event.source]) if not in_module(one))
            return next((one for one in outside if not calls_argument(one.file, one.line)), None)
    return None


def in_module(line: SourceLine) -> bool:
    """Whether a line is in a module's own method, so that its caller chose to call it."""
    return line.function == "forward" or in_class_with("forward", line.file, line.line)


def unsynced(drift: Drift) -> Cause | None:
    """A wrapper was switched to not reducing gradients; an event says so."""
    names = [name for name in drift.names if all(name in one.wrapped for one in drift.replicas)]
    if names:
        one, window = next(drift.windows(names[0]))
        off = [event.source for _, event in one.of_kind(window, "collective") if event.op == "no_sync"]
        if off:
            return drift.cause("no_sync", off[-1], names)
    return None


def outside(drift: Drift) -> Cause | None:
    """Parameters were added to a module after it was wrapped."""
    names = [name for name in drift.names if all(name in one.inside for one in drift.replicas)]
    if not names:
        return None
    one = drift.replicas[0]
    wrapper = one.inside[names[0]].event
    made = one.run.recording.tensors[one.numbers[names[0]]].source
    return drift.cause("made later", made or wrapper.source, names, detail=wrapper.op, other=wrapper.source)


# -- the program reduces gradients itself, incorrectly, or not at all
def by_hand(drift: Drift) -> Cause | None:
    """Gradients are all-reduced explicitly, but not all of them, or not between backward and the step."""
    one = drift.replicas[0]
    if not (one.reduced or one.hooked) or any(name in one.wrapped or name in one.hooked for name in drift.names):
        return None
    names = [name for name in drift.names if all(name in each.reduced for each in drift.replicas)]
    if names:
        return _untimely(drift, names)
    reduced = [row for rows in (*one.reduced.values(), *one.hooked.values()) for row in rows]
    _, window = next(drift.windows(drift.names[0]))
    line = next((one.events[row].source for row in reduced if row in window), None)
    return drift.cause("left out", line) if line is not None and _of_one_module(one, drift.names) else None


def _of_one_module(one: Replica, names: Sequence[str]) -> bool:
    """Whether one module holds parameters with and without all-reduced gradients: the latter may be intended."""
    numbers = {one.numbers[name] for name in names}
    reduced = {one.numbers[name] for name in (*one.reduced, *one.hooked) if name in one.numbers}
    held = [set(event.data.get("parameters", {}).values()) for event in one.events if event.kind == "module"]
    return any(numbers <= inside and not reduced.isdisjoint(inside) for inside in held)


def _untimely(drift: Drift, names: Sequence[str]) -> Cause | None:
    """Gradients are all-reduced after the step, before they are complete, or in too small a group."""
    one, window = next(drift.windows(names[0]))
    rows, number = one.reduced[names[0]], one.numbers[names[0]]
    timely = [row for row in rows if row in window]
    if timely and one.events[timely[-1]].op == "reduce":
        return drift.cause("reduced to one", one.events[timely[-1]].source, names, detail="reduce")
    arrived = list(_arrivals(one, window, number))
    last = one.events[(timely or rows)[-1]]
    step = one.events[one.held[names[0]][drift.step].row]
    if arrived and not any(row > arrived[0] for row in timely):
        return drift.cause("too late", last.source, names, detail=last.op, other=step.source)
    if arrived and not any(row > arrived[-1] for row in timely):
        return drift.cause("too early", last.source, names, detail=last.op, other=one.events[arrived[-1]].source)
    if timely and last.data.get("asynchronous"):
        return drift.cause("not waited", last.source, names, detail=last.op, other=step.source)
    if last.data.get("group_size", 0) < (one.run.recording.world_size or 0):
        return drift.cause("small group", last.source, names, detail=last.op)
    return None


def _arrivals(one: Replica, window: range, number: int) -> Iterator[int]:
    """Yield the rows at which gradients of a leaf have arrived: before its hooks ran, whose events come first."""
    hooked: dict[int | None, int] = {}
    before = window.start
    for row, event in one.of_kind(window, "backward", "hook", "accumulate"):
        ours, run = event.data.get("tensor") == number, event.data.get("run")
        if event.kind == "accumulate":
            if ours:
                yield hooked.pop(run, row)
            continue
        if ours and event.op == "post-accumulate" and event.data.get("action") == "ran":
            hooked.setdefault(run, before)
        before = row


def copied(drift: Drift) -> Cause | None:
    """A tensor as large as the gradients is all-reduced, but it is a copy, and is not written back."""
    lines: list[SourceLine | None] = []
    if any(name in one.wrapped for name in drift.names for one in drift.replicas):
        return None  # whose reducer may have been replaced, by a hook of the program
    first = drift.replicas[0]
    sizes = {name: math.prod(first.run.recording.tensors[first.numbers[name]].shape) for name in drift.names}
    for name in drift.names:
        for one, window in drift.windows(name):
            fits = {sizes[name], sum(sizes.values())}  # alone, or all in one piece
            returned = {row for rows in one.hooked.values() for row in rows}
            calls = (
                found for found in one.of_kind(window, "collective") if found[0] not in returned and sums(found[1])
            )
            fitting = [found for found in calls if not fits.isdisjoint(map(math.prod, found[1].data.get("shapes", ())))]
            if not fitting or _writes_gradient(one, range(fitting[0][0], window.stop), one.numbers[name]):
                return None
            lines.append(fitting[-1][1].source)
    return drift.cause("copy", lines[0])


def _writes_gradient(one: Replica, rows: range, number: int) -> bool:
    """Whether a gradient is written, or exchanged, between some events."""
    return any(
        number in (event.data.get("gradient_of"), event.data.get("tensor"))
        for _, event in one.of_kind(rows, "inplace", "leaf")
    )


def losses_only(drift: Drift) -> Cause | None:
    """A loss is all-reduced instead of gradients, which remain those of each rank."""
    if any(one.wrapped or one.reduced for one in drift.replicas):
        return None
    lines = []
    for one, window in drift.windows(drift.names[0]):
        added = (event for _, event in one.of_kind(window, "collective") if sums(event))
        lines += [(event.op, event.source) for event in added if any(event.data.get("requires_grad", ()))][:1]
    return drift.cause("losses only", lines[0][1], detail=lines[0][0]) if len(lines) == len(drift.replicas) else None


def silent(drift: Drift) -> Cause | None:
    """Nothing was ever reduced."""
    alone = next((one.alone for one in drift.replicas if one.alone), None)
    if alone is not None:
        return drift.cause("group of one", alone.source, detail=alone.op)
    one = drift.replicas[0]
    if any(each.wrapped or each.reduced for each in drift.replicas):
        return None
    row = one.held[drift.names[0]][drift.step].row
    line = backward_line(one.events[:row]) or one.events[row].source
    if not any(each.sends for each in drift.replicas) or all(_shared_once(each, drift) for each in drift.replicas):
        return drift.cause("not reduced", line)
    if any(any(_sent_tensors(each)) for each in drift.replicas):
        return None
    return drift.cause("trained apart", line)


def _sent_tensors(one: Replica) -> Iterator[bool]:
    """Yield for each sent tensor whether a rank sends it between its steps, or sends its parameters then."""
    tensors = one.run.recording.tensors
    held = [tensors[one.numbers[name]] for name in one.held]
    memory, sizes = {facts.storage for facts in held} - {None}, [math.prod(facts.shape) for facts in held]
    whole = {*sizes, sum(sizes)} - {1}
    first, last = (limit(steps[end].row for steps in one.held.values()) for limit, end in ((min, 0), (max, -1)))
    for row, event in enumerate(one.events):
        for tensor in event.data["inputs"] if _sends(event) and row > first else ():
            facts = tensors[tensor]
            yield row < last or facts.storage in memory or math.prod(facts.shape) in whole


def _shared_once(one: Replica, drift: Drift) -> bool:
    """Whether ranks sent only these parameters, before the first step: they started equal and are then independent."""
    first = one.held[drift.names[0]][0].row
    sent = [(row, event.data["inputs"]) for row, event in enumerate(one.events) if _sends(event)]
    given = {tensor for _, inputs in sent for tensor in inputs}
    memory = {one.run.recording.tensors[tensor].storage for tensor in given} - {None}
    whole = all(one.run.recording.tensors[one.numbers[name]].storage in memory for name in drift.names)
    return whole and all(row < first for row, _ in sent)


def _sends(event: Event) -> bool:
    return event.kind == "collective" and bool(event.data.get("inputs"))


# -- something wrote into the parameters between two steps
def _written(drift: Drift) -> Cause | None:
    """Something wrote into a parameter on some ranks only, or different values on each."""
    names = [name for name in drift.names if is_kept_equal(drift.replicas, name)]
    if not names:
        return None
    writes = [dict(_writes(one, window, one.numbers[names[0]])) for one, window in drift.windows(names[0])]
    for line, op in {line: op for one in writes for line, op in one.items()}.items():
        ranks = tuple(number for number, one in enumerate(writes) if line in one)
        if len(ranks) < len(writes):
            return drift.cause("written alone", line, names, detail=op, ranks=ranks)
    last = [list(one.items())[-1] for one in writes if one]
    if len(last) < len(writes):
        return None  # by a library, or by other processes
    return drift.cause("written unlike", last[0][0], names, detail=last[0][1])


def _writes(one: Replica, window: range, number: int) -> Iterator[tuple[SourceLine, str]]:
    """Yield the lines that write into a parameter, and the operator."""
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


# -- the step makes them differ
def _settings(drift: Drift) -> Cause | None:
    """The optimizers of the ranks have different settings."""
    steps = [one.events[one.held[drift.names[0]][drift.step].row] for one in drift.replicas]
    for of_ranks in zip(*(step.data.get("settings", ()) for step in steps), strict=False):
        for key in of_ranks[0]:
            values = [one.get(key) for one in of_ranks]
            if any(value != values[0] for value in values):
                lines = [step.data.get("set_at") for step in steps]
                source = next((SourceLine(*line) for line in reversed(lines) if line), steps[0].source)
                said = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:8])
                return drift.cause("settings", source, detail=f"{key} is {said}")
    return None


def _changed(drift: Drift) -> Cause | None:
    """Gradients were equal on all ranks until each rank changed them differently."""
    names = [name for name in drift.names if _equal_gradients(drift, name)]
    if not names:
        return None
    one, window = next(drift.windows(names[0]))
    arrived = max((row for row, _ in one.of_kind(window, "backward-end")), default=window.start)
    number = one.numbers[names[0]]
    for _, event in one.of_kind(range(arrived, window.stop), "clip"):
        if number in event.data.get("inputs", ()):
            return drift.cause("clipped", event.source, names, detail=event.op)
    for _, event in one.of_kind(range(arrived, window.stop), "inplace"):
        if event.data.get("gradient_of") == number:
            return drift.cause("changed", event.source, names, detail=event.op)
    return None


def _equal_gradients(drift: Drift, name: str) -> bool:
    """Whether the gradient of a parameter had the same norm on all ranks after the last backward pass."""
    norms = []
    for one, window in drift.windows(name):
        ends = [event.data.get("kept_norms", {}) for _, event in one.of_kind(window, "backward-end")]
        norm = ends[-1].get(str(one.numbers[name])) if ends else None
        if not isinstance(norm, (int, float)) or not norm:
            return False
        norms.append(float(norm))
    return all(math.isclose(norm, norms[0], rel_tol=1e-6) for norm in norms)


def _remembered(drift: Drift) -> Cause | None:
    """Gradients and settings were equal, so the optimizers' states differ."""
    names = [name for name in drift.names if is_kept_equal(drift.replicas, name) and _equal_gradients(drift, name)]
    if len(names) < len(drift.names):
        return None
    one = drift.replicas[0]
    return drift.cause("remembered", one.events[one.held[names[0]][drift.step].row].source, names)


_BY_STEP: tuple[Callable[[Drift], Cause | None], ...] = (
    *(_settings, _changed, thawed, hooks_lost, past, unsynced, outside),
    *(by_hand, copied, losses_only, silent, _remembered),
)
"""The possible causes, the most certain first."""
