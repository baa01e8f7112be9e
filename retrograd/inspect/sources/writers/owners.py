"""Writes events of modules and optimizers, which own the parameters that a program trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import FrameType
from typing import Any

from ...bounded import BoundedDict
from ...program.frames import source_line, user_frame
from ...program.modules import attribute, held_parameters, inner_classes, is_training
from ...program.names import unregistered
from ...recording.events import Event
from ..base import Watch
from ..module_names import Called, name_after_modules, variable_of
from ..object_numbers import ObjectNumbers
from ..optimizer_settings import GroupSettings, SettingsLines
from ..step_effects import Reader, StepEffects

_LOOKS = 3
"""How often an optimizer's variable is searched for: it does not exist yet while the optimizer is made."""


def tell_module(watch: Watch, called: Called) -> None:
    """Send the parameters, with names, of a module that was called outside of others."""
    module = called.module
    named = held_parameters(module)
    numbers = watch.numbers([parameter for _, parameter in named])
    table = watch.sink.tensors
    for (dotted, parameter), number in zip(named, numbers, strict=True):
        known = table.entered(number).name
        table.name(parameter, known if known.endswith(f".{dotted}") else dotted, parameter=True)
    data: dict[str, Any] = {
        "name": called.name,
        "scope": called.scope,
        "type": type(module).__name__,
        "parameters": {dotted: number for (dotted, _), number in zip(named, numbers, strict=True)},
        "frozen": [dotted for dotted, parameter in named if not parameter.requires_grad],
        "owner": called.number,
    }
    if watch.level == "full":
        data["classes"] = inner_classes(module)
    strangers = {dotted: watch.number(tensor) for dotted, tensor in unregistered(module)}
    if strangers:
        data["unregistered"] = strangers
    if not is_training(module):
        data["training"] = False
    watch.sink(Event("module", data["type"], source_line(user_frame(called.caller)), data))


@dataclass(slots=True)
class _Step:
    """A running step."""

    events: list[tuple[Watch, Event]] = field(default_factory=list)
    """Recordings and their events for this step."""
    closure: bool = False


class Optimizers:
    """Sends the actions of optimizers to the recordings that want them."""

    def __init__(self, reader: Reader, tensor: type, in_group: Callable[[], bool]) -> None:
        """``tensor`` is the class of all tensors; ``in_group``: whether other processes may hold the same ones."""
        self._tensor, self._in_group = tensor, in_group
        self._numbers = ObjectNumbers()
        self._names: BoundedDict[int, tuple[str, int]] = BoundedDict(1_000)
        """By number: name of an optimizer, and how often it may still be searched for."""
        self._settings = GroupSettings()
        self._settings_lines = SettingsLines()
        self._placed: BoundedDict[tuple[Sequence[int], ...], dict[str, int]] = BoundedDict(1_000)
        """Sizes of groups, and numbers of their parameters -> parameters by position, shared by events."""
        self._effects = StepEffects(reader)
        self._steps: BoundedDict[int, _Step] = BoundedDict(1_000)
        """Running steps, by number."""

    def works(self, watches: Iterable[Watch], action: str, optimizer: Any, caller: FrameType) -> None:
        """Send that an optimizer was made, clears gradients or steps, or that its step's closure was evaluated."""
        owner, groups = self._numbers.of(optimizer), attribute(optimizer, "param_groups")
        held, sizes = list(_held(groups)), tuple([len(group["params"]) for group in groups])
        line, settings = source_line(user_frame(caller)), self._settings.of(groups)
        described: dict[str, Any] = {"action": action, "type": type(optimizer).__name__, "owner": owner}
        described["name"] = self._name(owner, optimizer, caller)
        step, effects = _Step(), dict[str, list[int]]()
        listening = tuple(watches)
        if action in ("step", "evaluated") and any(watch.level == "full" for watch in listening):
            effects = self._effects.found(held)
            if action == "step":
                self._effects.begin(owner, held)
                self._steps[owner] = step
        for watch in listening:
            numbers = watch.numbers(held, line)
            if action == "made":
                name_after_modules(watch.sink.tensors, held, caller, self._tensor)
            data = {**described, "parameters": self._by_place(sizes, tuple(numbers)), "settings": settings}
            if (set_at := self._settings_lines.of(owner, settings, watch.sink.files)) is not None:
                data["set_at"] = list(set_at)
                watch.sink.mention(set_at)
            event = Event("optimizer", described["type"], line, data)
            if watch.level == "full":
                data |= {key: [numbers[place] for place in places] for key, places in effects.items()}
                if action == "step":
                    step.events.append((watch, event))
                    self._add_held(data, "held_before", owner, numbers)
            watch.sink(event)
            if action == "step":
                watch.sink.stepped(owner)

    def calls_closure(self, optimizer: Any) -> None:
        """Note that the running step calls a closure of the program."""
        step = self._steps.get(self._numbers.of(optimizer))
        if step is not None and not step.closure:
            step.closure = True
            for _, event in step.events:
                event.data["closure"] = True

    def stepped(self, optimizer: Any) -> None:
        """Complete a step that is over: which parameters it left unchanged."""
        owner = self._numbers.of(optimizer)
        step = self._steps.pop(owner, None)
        if step is None:
            return
        held = list(_held(attribute(optimizer, "param_groups")))
        still = self._effects.end(owner, held)
        for watch, event in step.events:
            numbers = watch.numbers(held)
            event.data["still"] = [numbers[place] for place in still]
            self._add_held(event.data, "held_after", owner, numbers)
            if step.closure:  # other events came meanwhile
                data = {"action": "stepped", "type": event.op, "owner": owner}
                watch.sink(Event("optimizer", event.op, event.source, data))

    def scheduled(self, optimizer: Any, caller: FrameType) -> None:
        """Note that a schedule has set the rates of an optimizer."""
        settings = self._settings.of(attribute(optimizer, "param_groups"))
        self._settings_lines.scheduled(self._numbers.of(optimizer), settings, source_line(user_frame(caller)))

    def _name(self, owner: int, optimizer: Any, caller: FrameType) -> str:
        """Return the program's name for an optimizer, or its class."""
        name, looks = self._names.get(owner, ("", _LOOKS))
        if looks:
            name = variable_of(optimizer, caller, deep=False)
            self._names[owner] = name, looks - 1 if name == type(optimizer).__name__ else 0
        return name

    def _by_place(self, sizes: tuple[int, ...], numbers: tuple[int, ...]) -> dict[str, int]:
        """Return the numbers of parameters by group and position."""
        known = self._placed.get((sizes, numbers))
        if known is None:
            names = (f"{group}.{place}" for group, size in enumerate(sizes) for place in range(size))
            known = self._placed[sizes, numbers] = dict(zip(names, numbers, strict=True))
        return known

    def _add_held(self, data: dict[str, Any], key: str, owner: int, numbers: list[int]) -> None:
        """Add digests of the parameters, by number as text, if there are several processes."""
        if self._in_group():
            contents = zip(numbers, self._effects.contents(owner), strict=False)
            data[key] = {str(number): one for number, one in contents if one is not None}


def _held(groups: Iterable[Any]) -> Iterable[Any]:
    """Yield the parameters of groups."""
    return chain.from_iterable(group["params"] for group in groups)
