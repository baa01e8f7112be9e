"""What one rank recorded about its parameters: their values at every step, and what keeps them equal across ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ..graphs.align import plain_name
from ..operators.collectives import Shares, shares
from ..recording.events import Event
from .run import Run


def sums(event: Event) -> bool:
    """Whether an event is a collective that sums values of all ranks."""
    return event.kind == "collective" and Shares.SUM in shares(event.op)


class Held(NamedTuple):
    """One optimizer step, and its effect on one parameter."""

    row: int
    before: int
    after: int


@dataclass(slots=True)
class Wrapped:
    """A wrapper that keeps parameters equal in all processes of a group, and where it was made."""

    row: int
    event: Event
    members: tuple[int, ...] | None
    """Ranks of the processes in its group, None for all."""


@dataclass
class Replica:
    """One rank's parameters, by names that are the same on all ranks."""

    run: Run
    names: dict[int, str] = field(default_factory=dict)
    """Tensor -> name; further tensors with the same name get a number."""
    plain: Counter[str] = field(default_factory=Counter)
    """Name without a number -> how many tensors have it."""
    held: dict[str, list[Held]] = field(default_factory=dict)
    wrapped: dict[str, Wrapped] = field(default_factory=dict)
    inside: dict[str, Wrapped] = field(default_factory=dict)
    """Parameters that were added to a wrapped module later."""
    reduced: dict[str, list[int]] = field(default_factory=dict)
    """Name -> indices of collectives that sum its gradient over ranks."""
    hooked: dict[str, list[int]] = field(default_factory=dict)
    """Name -> indices of collectives in hooks that replace its gradient, for example by the sum."""
    left_alone: set[str] = field(default_factory=set)
    """Parameters that a wrapper was configured to ignore."""
    together: bool = False
    """Whether the rank is one of several in a group."""
    sends: bool = False
    """Whether it ever sent a tensor."""
    alone: Event | None = None
    """A wrapper whose group contains only this process."""

    @property
    def events(self) -> list[Event]:
        """The events of the rank."""
        return self.run.recording.events

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name -> tensor."""
        return {name: number for number, name in self.names.items()}

    def window(self, name: str, step: int) -> range:
        """Return the event indices from one step of a parameter up to the step with number ``step``."""
        held = self.held[name]
        return range(held[step - 1].row + 1 if step else 0, held[step].row if step < len(held) else len(self.events))

    def of_kind(self, rows: range, *kinds: str) -> Iterator[tuple[int, Event]]:
        """Yield the events of some kinds with these indices."""
        return ((row, self.events[row]) for row in rows if self.events[row].kind in kinds)


def replica_of(run: Run) -> Replica:
    """Collect what one rank recorded about its parameters."""
    found = Replica(run)
    members: dict[int, tuple[int, ...]] = {}
    in_hook: list[int] = []
    for row, event in enumerate(run.recording.events):
        data = event.data
        if "members" in data:
            members[data["group"]] = tuple(data["members"])
        if event.kind == "optimizer" and data.get("action") == "step" and "held_after" in data:
            _add_step(found, row, event)
        elif event.kind == "wrapper" and not data.get("sharded"):
            _add_wrapper(found, Wrapped(row, event, members.get(data.get("group", 0))))
        elif event.kind == "module":
            _add_module(found, event)
        elif event.kind == "collective":
            found.together = found.together or data.get("group_size", 1) > 1
            found.sends = found.sends or bool(data.get("inputs") and data.get("group_size", 1) > 1)
            if sums(event) and Shares.PARTS not in shares(event.op):  # a shard of a sum says nothing of replicas
                in_hook += [row] if data.get("run") is not None else []
                for number in data.get("gradients_of", ()):
                    found.reduced.setdefault(_name(found, number), []).append(row)
        elif event.kind == "hook" and data.get("action") == "ran":
            given = data.get("tensor") if data.get("returned") else None
            if in_hook and given is not None and run.recording.tensors[given].leaf:
                found.hooked.setdefault(_name(found, given), []).extend(in_hook)
            in_hook = []
    return found


def _name(found: Replica, number: int) -> str:
    """Return the name of a tensor, unique within this rank."""
    if number not in found.names:
        plain = plain_name(found.run.recording.tensors[number].name) or ""
        found.plain[plain] += 1
        found.names[number] = f"{plain} #{found.plain[plain]}" if plain and found.plain[plain] > 1 else plain
    return found.names[number]


def _add_step(found: Replica, row: int, event: Event) -> None:
    before = event.data.get("held_before", {})
    for key, after in event.data["held_after"].items():
        name = _name(found, int(key))
        if name and key in before:
            found.held.setdefault(name, []).append(Held(row, before[key], after))


def _add_wrapper(found: Replica, wrapper: Wrapped) -> None:
    if wrapper.event.data.get("group_size") == 1:
        found.alone = found.alone or wrapper.event
        return
    ignored = wrapper.event.data.get("left_alone", ())
    found.left_alone.update(_name(found, one) for one in ignored)
    found.wrapped.update({_name(found, one): wrapper for one in wrapper.event.data["inputs"] if one not in ignored})


def _add_module(found: Replica, event: Event) -> None:
    """Note modules that a wrapper holds when it is called and did not hold when it was made."""
    wrappers = [one for one in found.wrapped.values() if one.event.op == event.data.get("type")]
    parameters = event.data.get("parameters", {})
    names = {number: _name(found, number) for number in parameters.values()}
    own = next((found.wrapped[name] for name in names.values() if found.wrapped.get(name) in wrappers), None)
    ignored = () if own is None else own.event.data.get("left_alone", ())
    for number, name in names.items():
        if own is not None and name not in found.wrapped and number not in ignored:
            found.inside[name] = own
