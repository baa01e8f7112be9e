"""The facts by which two recordings are compared: a ``View`` for each kind.

A view reads values under keys from the events of a recording, and reduces the values of each key to one fact. Keys are
names that two programs share: names of parameters, and for calls the module or function that makes them. Facts are
counts per step, shares and sets; never lines, seeds or sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..diagnosis.text.words import times
from ..operators import Trait, is_a
from ..recording.events import Event, Recording

Key = tuple[str, ...]
Seen = tuple[Key, Any, int]
"""A value under a key, and the index of its event."""


@dataclass(frozen=True, slots=True)
class View:
    """Which values are collected, the fact they are reduced to, and how a difference is described."""

    see: Callable[[Recording], Iterator[Seen]]
    fact: Callable[[list[Any], int], Any]
    """Reduce the values of one key, over so many steps, to a fact; None if they mean nothing."""
    differs: Callable[[Any, Any], bool]
    """Whether two facts differ; either is None where a recording lacks it."""
    describe: Callable[[Key, Any, Any], str]
    """Describe a difference: what this run does, what the baseline does."""
    note: bool = False
    """Whether the difference may well be intended."""


# -- optimizers and parameters


def _settings(recording: Recording) -> Iterator[Seen]:
    """Yield settings of each parameter group of each optimizer, in the order of their creation."""
    made: Counter[str] = Counter()
    for row, event in _events(recording, "optimizer", action="made"):
        made[str(event.op)] += 1
        name = f"{event.op} {made[str(event.op)]}" if made[str(event.op)] > 1 else str(event.op)
        for number, group in enumerate(event.data.get("settings", ())):
            of_group = f" of group {number}" if number else ""
            for setting, value in group.items():
                yield (name, f"{setting}{of_group}"), tuple(value) if isinstance(value, list) else value, row


def _held(recording: Recording) -> Iterator[Seen]:
    """Yield which parameters are in an optimizer."""
    names = _names(recording)
    for row, event in _events(recording, "optimizer", action="made"):
        for tensor in event.data.get("parameters", {}).values():
            if tensor in names:
                yield (names[tensor],), True, row


def _initial_writes(recording: Recording) -> Iterator[Seen]:
    """Yield what wrote into parameters before the first backward pass."""
    memory = {recording.tensors[tensor].storage: name for tensor, name in _names(recording).items()}
    for row, event in _events(recording, "backward", "inplace"):
        if event.kind == "backward":
            return
        if "target" in event.data:
            name = memory.get(recording.tensors[event.data["target"]].storage)
            if name:
                yield (name, _called(event)), True, row


def _reached(recording: Recording) -> Iterator[Seen]:
    """Yield the backward passes in which each parameter got a gradient."""
    names = _names(recording)
    first = _first(recording, "backward")
    for name in names.values():
        yield (name,), None, first
    for row, event in _events(recording, "accumulate"):
        if event.data.get("tensor") in names:
            yield (names[event.data["tensor"]],), event.data.get("run"), row


def _moved(recording: Recording) -> Iterator[Seen]:
    """Yield whether each step changed each parameter."""
    names = _names(recording)
    parameters = {
        event.data.get("owner"): [one for one in event.data.get("parameters", {}).values() if one in names]
        for _, event in _events(recording, "optimizer", action="made")
    }
    for row, event in _events(recording, "optimizer", action="step"):
        idle = {*event.data.get("still", ()), *event.data.get("without", ())}
        for tensor in parameters.get(event.data.get("owner"), ()):
            yield (names[tensor],), tensor not in idle, row


# -- calls


def _drawn(recording: Recording) -> Iterator[Seen]:
    """Yield sums of the random tensors drawn in each place."""
    for row, event in _events(recording, *_CALLED):
        if is_a(event.op, Trait.RANDOM):
            for value in event.data.get("checksum", ()):
                if value is not None:
                    yield (_place(event), _called(event)), value, row


def _arguments(recording: Recording) -> Iterator[Seen]:
    """Yield plain arguments of calls, sizes apart, with and without a graph being recorded."""
    for row, event in _events(recording, *_CALLED):
        for name, value in event.data.get("arguments", {}).items():
            if isinstance(value, (bool, str)) or (isinstance(value, (int, float)) and not name.isdigit()):
                yield (_place(event), _called(event), _phase(event), name), value, row


def _phases(recording: Recording) -> Iterator[Seen]:
    """Yield whether calls are made in grad mode."""
    for row, event in _events(recording, *_CALLED):
        yield (_place(event), _called(event)), _phase(event), row


def _dtypes(recording: Recording) -> Iterator[Seen]:
    """Yield the dtypes of calls' operands and results."""
    for row, event in _events(recording, *_CALLED):
        taken, given = (_dtypes_of(recording, event.data.get(key, ())) for key in ("inputs", "outputs"))
        if given:
            yield (_place(event), _called(event), _phase(event)), f"{taken or 'nothing'} to {given}", row


def _lost_values(recording: Recording) -> Iterator[Seen]:
    """Yield whether results of calls are all zero, or non-finite."""
    for row, event in _events(recording, *_CALLED):
        for bounds in event.data.get("range", ()):
            if bounds is not None:
                least, greatest = bounds
                finite = abs(least) < float("inf") and abs(greatest) < float("inf")
                yield (_place(event), _called(event)), not finite or least == greatest == 0, row


def _training_calls(recording: Recording) -> Iterator[Seen]:
    """Return calls from the first optimizer, module or backward pass on, except those that only read a number."""
    first = _first(recording, "optimizer", "module", "backward")
    for row, event in _events(recording, *_CALLED, "function", "clip", "scaling", "load"):
        only_cut = event.kind == "cut" and not event.data.get("outputs")
        if row >= first and not only_cut:
            yield (_place(event), _called(event)), True, row


_CALLED = ("operation", "inplace", "cut")

# -- facts


def _last(values: list[Any], _steps: int) -> Any:
    return values[-1]


def _count(values: list[Any], _steps: int) -> int:
    return len(values)


def _a_step(values: list[Any], steps: int) -> float:
    return len(values) / steps


def _share_of_steps(runs: list[Any], steps: int) -> float:
    return min(len(set(runs) - {None}) / steps, 1.0)


def _share(values: list[bool], _steps: int) -> float:
    return sum(values) / len(values)


def _repeated(values: list[Any], _steps: int) -> float | None:
    return None if len(values) < _FEW else 1 - len(set(values)) / len(values)


_FEW = 4
"""Fewer distinct results than this may coincide by chance."""


def _set(values: list[Any], _steps: int) -> frozenset[Hashable]:
    return frozenset(values)


def _few(values: list[Any], _steps: int) -> frozenset[Hashable] | None:
    found = frozenset(values)
    return found if len(found) <= _MOST else None


_MOST = 4
"""With more distinct values, an argument is data."""

# -- differences


def _unequal(here: Any, there: Any) -> bool:
    return bool(here != there)


def _both(differs: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Apply ``differs`` where both recordings have a fact."""
    return lambda here, there: here is not None and there is not None and differs(here, there)


def _by(least: float) -> Callable[[Any, Any], bool]:
    """Whether two shares differ by at least so much."""
    return _both(lambda here, there: bool(abs(here - there) >= least))


_NOTABLY = 0.1
"""Difference above which shares of a run's results are reported,"""
_MOSTLY = 0.5
"""and shares of its steps, which a single first or skipped step of a short run can change a lot."""


def _much(here: Any, there: Any) -> bool:
    return bool(max(here, there) > _OFTEN * min(here, there))


_OFTEN = 1.4
"""Ratio of call counts in one place above which a difference is reported."""

# -- sentences


def _tell_setting(key: Key, here: Any, there: Any) -> str:
    return f"{key[0]} has {key[1]} = {here}, and {there} in the baseline"


def _tell_held(key: Key, here: Any, _there: Any) -> str:
    return f"an optimizer holds {key[0]} {_where(here)} only"


def _tell_writes(key: Key, here: Any, there: Any) -> str:
    before = "before the first backward pass"
    return f"{key[1]} writes into {key[0]} {times(here)} {before}, and {times(there)} in the baseline"


def _tell_reached(key: Key, here: Any, there: Any) -> str:
    return f"{here:.0%} of the steps give a gradient to {key[0]}, and {there:.0%} in the baseline"


def _tell_moved(key: Key, here: Any, there: Any) -> str:
    return f"{here:.0%} of the steps change {key[0]}, and {there:.0%} in the baseline"


def _tell_drawn(key: Key, here: Any, there: Any) -> str:
    shares = f"{here:.0%} of the results of {key[1]} in {key[0]} repeat an earlier one, and {there:.0%} in the baseline"
    return f"{shares}: its generator starts again" if here > there else shares


def _tell_argument(key: Key, here: Any, there: Any) -> str:
    place, op, phase, name = key
    called = f"argument {name}" if name.isdigit() else name
    return f"{op} in {place} is called with {called} = {_listed(here)} {phase}, and {_listed(there)} in the baseline"


def _tell_phases(key: Key, here: Any, there: Any) -> str:
    return f"{key[1]} in {key[0]} is called {_listed(here)}, and {_listed(there)} in the baseline"


def _tell_dtypes(key: Key, here: Any, there: Any) -> str:
    only_here, only_there = _listed(here - there or here), _listed(there - here or there)
    return f"{key[1]} in {key[0]} takes {only_here}, and {only_there} in the baseline"


def _tell_lost(key: Key, here: Any, there: Any) -> str:
    what = "zero throughout or not finite"
    return f"{here:.0%} of the results of {key[1]} in {key[0]} are {what}, and {there:.0%} in the baseline"


def _tell_calls(key: Key, here: Any, _there: Any) -> str:
    return f"{key[1]} is called in {key[0]} {_where(here)} only"


def _tell_often(key: Key, here: Any, there: Any) -> str:
    return f"{key[1]} is called {here:.3g} times a step in {key[0]}, and {there:.3g} times in the baseline"


VIEWS: tuple[View, ...] = (
    View(_settings, _last, _unequal, _tell_setting),
    View(_held, _last, _unequal, _tell_held),
    View(_initial_writes, _count, _unequal, _tell_writes),
    View(_reached, _share_of_steps, _by(_MOSTLY), _tell_reached),
    View(_drawn, _repeated, _by(_NOTABLY), _tell_drawn),
    View(_arguments, _few, _both(_unequal), _tell_argument),
    View(_phases, _set, _both(_unequal), _tell_phases),
    View(_dtypes, _set, _both(_unequal), _tell_dtypes),
    View(_lost_values, _share, _by(_NOTABLY), _tell_lost),
    View(_moved, _share, _by(_MOSTLY), _tell_moved),
    View(_training_calls, _last, _unequal, _tell_calls),
    View(_training_calls, _a_step, _both(_much), _tell_often, note=True),
)


def steps_of(recording: Recording) -> int:
    """Return the number of recorded steps: those of the busiest optimizer, else backward passes; at least 1."""
    steps = Counter(event.data.get("owner") for _, event in _events(recording, "optimizer", action="step"))
    return max(max(steps.values(), default=0) or sum(1 for _ in _events(recording, "backward")), 1)


# -- events


def _events(recording: Recording, *kinds: str, **data: object) -> Iterator[tuple[int, Event]]:
    """Yield the events of some kinds whose data have these values, with their indices."""
    for row, event in enumerate(recording.events):
        if event.kind in kinds and all(event.data.get(key) == value for key, value in data.items()):
            yield row, event


def _first(recording: Recording, *kinds: str) -> int:
    """Return the index of the first event of some kinds, 0 if there is none."""
    return next((row for row, _ in _events(recording, *kinds)), 0)


def _names(recording: Recording) -> dict[int, str]:
    """Return the name of each parameter, by tensor, as modules of both programs name it."""
    found = {tensor: facts.name for tensor, facts in enumerate(recording.tensors) if facts.parameter and facts.name}
    for _, event in _events(recording, "module"):
        for name, tensor in event.data.get("parameters", {}).items():
            found[tensor] = f"{event.data.get('name') or event.op}.{name}"
    return found


def _place(event: Event) -> str:
    """Return the module that makes a call, else the function."""
    scope = event.data.get("scope")
    if scope:
        return str(scope).replace("/", ".")
    function = event.source.function if event.source is not None else ""
    return "the script" if function in ("", "<module>") else f"{function}()"


def _called(event: Event) -> str:
    return str(event.data.get("written") or event.op or event.kind)


def _phase(event: Event) -> str:
    return "while gradients are recorded" if event.data.get("grad") else "while no gradients are recorded"


def _dtypes_of(recording: Recording, tensors: Sequence[int]) -> str:
    return " and ".join(sorted({recording.tensors[one].dtype for one in tensors}))


def _where(here: Any) -> str:
    return "here" if here else "in the baseline"


def _listed(values: Iterable[Any]) -> str:
    return " or ".join(sorted(map(str, values)))
