"""Copies of parameters that part although a wrapper was to keep them alike: it does not know them, or is not asked."""

from __future__ import annotations

from collections.abc import Sequence

from ..events import Event
from ..program.arguments import calls_argument, in_class_with
from ..snapshot import SourceLine
from .copies import Copies
from .parting import Cause, Parting, backward_line


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
    """A wrapper was told not to reduce."""
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
