"""The facts that two recordings are compared by: a row of ``VIEWS`` for each kind.

A view reads values under keys from the events of a recording, and makes one fact of all values of a key. Keys are names
that two programs share: names of parameters, and for calls the module or function that makes them. Facts are counts per
step, shares and sets; never lines, seeds or sizes.
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
"""A value under a key, and the row of the event that it was seen at."""


@dataclass(frozen=True, slots=True)
class View:
    """One row: what is seen, what fact is made of it, and how one that differs is said."""

    see: Callable[[Recording], Iterator[Seen]]
    fact: Callable[[list[Any], int], Any]
    """Make a fact of the values of one key, in so many steps; None if they say nothing."""
    differs: Callable[[Any, Any], bool]
    """Whether two facts differ; each is None where a recording has none."""
    tell: Callable[[Key, Any, Any], str]
    """Say it: what this run does, what the baseline does."""
    note: bool = False
    """It may well be meant."""


# -- optimizers and parameters


def _settings(recording: Recording) -> Iterator[Seen]:
    """Settings of each group of each optimizer as it was made, by the order in which they were made."""
    made: Counter[str] = Counter()
    for row, event in _events(recording, "optimizer", action="made"):
        made[str(event.op)] += 1
        name = f"{event.op} {made[str(event.op)]}" if made[str(event.op)] > 1 else str(event.op)
        for number, group in enumerate(event.data.get("settings", ())):
            of_group = f" of group {number}" if number else ""
            for setting, value in group.items():
                yield (name, f"{setting}{of_group}"), tuple(value) if isinstance(value, list) else value, row


def _held(recording: Recording) -> Iterator[Seen]:
    """Which parameters are in an optimizer."""
    names = _names(recording)
    for row, event in _events(recording, "optimizer", action="made"):
        for tensor in event.data.get("parameters", {}).values():
            if tensor in names:
                yield (names[tensor],), True, row


def _initial_writes(recording: Recording) -> Iterator[Seen]:
    """What wrote into parameters before the first backward pass."""
    memory = {recording.tensors[tensor].storage: name for tensor, name in _names(recording).items()}
    for row, event in _events(recording, "backward", "inplace"):
        if event.kind == "backward":
            return
        if "target" in event.data:
            name = memory.get(recording.tensors[event.data["target"]].storage)
            if name:
                yield (name, _called(event)), True, row


def _reached(recording: Recording) -> Iterator[Seen]:
    """Backward passes in which each parameter got a gradient."""
    names = _names(recording)
    first = _first(recording, "backward")
    for name in names.values():
        yield (name,), None, first
    for row, event in _events(recording, "accumulate"):
        if event.data.get("tensor") in names:
            yield (names[event.data["tensor"]],), event.data.get("run"), row


def _moved(recording: Recording) -> Iterator[Seen]:
    """Whether each step changed each parameter."""
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
    """Sums of the random tensors that a place draws."""
    for row, event in _events(recording, *_CALLED):
        if is_a(event.op, Trait.RANDOM):
            for value in event.data.get("checksum", ()):
                if value is not None:
                    yield (_place(event), _called(event)), value, row


def _arguments(recording: Recording) -> Iterator[Seen]:
    """Plain arguments of a place's calls, but for sizes, while a graph is recorded and while none is."""
    for row, event in _events(recording, *_CALLED):
        for name, value in event.data.get("arguments", {}).items():
            if isinstance(value, (bool, str)) or (isinstance(value, (int, float)) and not name.isdigit()):
                yield (_place(event), _called(event), _phase(event), name), value, row


def _phases(recording: Recording) -> Iterator[Seen]:
    """Whether a place's calls are made while grad mode is on."""
    for row, event in _events(recording, *_CALLED):
        yield (_place(event), _called(event)), _phase(event), row


def _dtypes(recording: Recording) -> Iterator[Seen]:
    """To which dtypes a place's calls take which ones."""
    for row, event in _events(recording, *_CALLED):
        taken, given = (_dtypes_of(recording, event.data.get(key, ())) for key in ("inputs", "outputs"))
        if given:
            yield (_place(event), _called(event), _phase(event)), f"{taken or 'nothing'} to {given}", row


def _lost_values(recording: Recording) -> Iterator[Seen]:
    """Whether the results of a place's calls are zero throughout, or not finite."""
    for row, event in _events(recording, *_CALLED):
        for bounds in event.data.get("range", ()):
            if bounds is not None:
                least, greatest = bounds
                finite = abs(least) < float("inf") and abs(greatest) < float("inf")
                yield (_place(event), _called(event)), not finite or least == greatest == 0, row


def _training_calls(recording: Recording) -> Iterator[Seen]:
    """Calls from the first optimizer, module or backward pass on, except those that only read a number."""
    first = _first(recording, "optimizer", "module", "backward")
    for row, event in _events(recording, *_CALLED, "function", "clip", "scaling", "load"):
        told = event.kind == "cut" and not event.data.get("outputs")
        if row >= first and not told:
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
"""Results of which one may be drawn twice by chance."""


def _set(values: list[Any], _steps: int) -> frozenset[Hashable]:
    return frozenset(values)


def _few(values: list[Any], _steps: int) -> frozenset[Hashable] | None:
    found = frozenset(values)
    return found if len(found) <= _MOST else None


_MOST = 4
"""Values of an argument beyond which it is data."""

# -- differences


def _unequal(here: Any, there: Any) -> bool:
    return bool(here != there)


def _both(differs: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Where both recordings have a fact."""
    return lambda here, there: here is not None and there is not None and differs(here, there)


def _by(least: float) -> Callable[[Any, Any], bool]:
    """Where two shares are as far apart."""
    return _both(lambda here, there: bool(abs(here - there) >= least))


_NOTABLY = 0.1
"""Difference from which shares of a run's results are reported,"""
_MOSTLY = 0.5
"""and shares of its steps, where a first step or a skipped one makes much of a short run."""


def _much(here: Any, there: Any) -> bool:
    return bool(max(here, there) > _OFTEN * min(here, there))


_OFTEN = 1.4
"""Ratio of calls at one place from which on a difference is reported."""

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
    """Return how many steps were recorded: those of the optimizer that steps most, else backward passes; at least 1."""
    steps = Counter(event.data.get("owner") for _, event in _events(recording, "optimizer", action="step"))
    return max(max(steps.values(), default=0) or sum(1 for _ in _events(recording, "backward")), 1)


# -- events


def _events(recording: Recording, *kinds: str, **data: object) -> Iterator[tuple[int, Event]]:
    """Yield the events of some kinds, with their rows; those only whose data have these values."""
    for row, event in enumerate(recording.events):
        if event.kind in kinds and all(event.data.get(key) == value for key, value in data.items()):
            yield row, event


def _first(recording: Recording, *kinds: str) -> int:
    """Return the row of the first event of some kinds; 0 if there is none."""
    return next((row for row, _ in _events(recording, *kinds)), 0)


def _names(recording: Recording) -> dict[int, str]:
    """Return the name of each parameter, by tensor: those of modules as both programs call them."""
    found = {tensor: facts.name for tensor, facts in enumerate(recording.tensors) if facts.parameter and facts.name}
    for _, event in _events(recording, "module"):
        for name, tensor in event.data.get("parameters", {}).items():
            found[tensor] = f"{event.data.get('name') or event.op}.{name}"
    return found


def _place(event: Event) -> str:
    """Return the module that a call is made in, else the function."""
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
