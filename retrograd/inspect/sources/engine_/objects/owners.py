"""Observes modules and optimizers, which own the parameters that a program trains."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

from .....engine.aliasing.views import requires_grad
from .....engine.tensors.base import TensorBase
from ....bounded import BoundedDict
from ....events import Event
from ....journal import Note, Rows
from ....program.frames import source_line, user_frame
from ....program.modules import attribute, held_parameters, is_training
from ....program.names import unregistered
from ....snapshot import SourceLine
from ... import named_scopes
from ...module_names import Roots, below, name_after_modules, variable_of
from ...object_numbers import ObjectNumbers
from ...optimizer_settings import GroupSettings, SettingsLines
from ...step_effects import StepEffects
from ...stray_attributes import report_strays
from ..backward.lines import Lines
from ..calls.caller import note_module
from ..watching import Observer, Watching, guarded, report_problem
from .step_reader import StepReader


class _Step(NamedTuple):
    """A step under way, and what its event says of what it does."""

    optimizer: Any
    owner: int
    effects: dict[str, Any]


class Owners(Observer):
    """Sends ``module`` and ``optimizer``, and knows which module is running."""

    def __init__(self, watching: Watching, lines: Lines) -> None:
        super().__init__(watching)
        self._lines = lines
        self._call: Any = None
        self._roots = Roots(self._met)
        self._optimizers = ObjectNumbers()
        self._settings = GroupSettings()
        self._settings_lines = SettingsLines()
        self._mentioned: set[SourceLine | None] = set()
        """The lines of optimizers' calls."""
        self._parameters: BoundedDict[tuple[tuple[int, ...], ...], dict[str, int]] = BoundedDict(1_000)
        """Numbers of parameters by group -> the same by place."""
        self._effects = StepEffects(StepReader())
        self._steps: dict[int, _Step] = {}
        """Steps under way by the number of the optimizer, outermost first."""

    # -- modules
    @guarded
    def module_began(self, module: Any) -> None:
        """A module is called."""
        scopes = self.watching.here.scopes
        call = type(module).__call__.__code__
        if call is not self._call:
            self._call = call
            note_module(call)
        modules = self.watching.here.modules
        around = modules[-1] if modules else ""
        path = self._roots.path(module, around, sys._getframe(1))
        scopes.append(path if len(scopes) == len(modules) else f"{scopes[-1]}/{below(path, around)}")
        modules.append(path)
        self._lines.enter(scopes[-1])

    @guarded
    def module_ended(self, module: Any) -> None:
        """It is done."""
        here = self.watching.here
        if here.modules:
            here.modules.pop()
            self._leave(here.scopes)

    @guarded
    def scope_began(self, name: str) -> None:
        """A stretch of the program begins that the user gave a name."""
        scopes = self.watching.here.scopes
        scopes.append(f"{scopes[-1]}/{name}" if scopes else name)
        self._lines.enter(scopes[-1])
        named_scopes.notify_followers(self.watching.sink, name, True)

    @guarded
    def scope_ended(self, name: str) -> None:
        """It is over."""
        self._leave(self.watching.here.scopes)
        named_scopes.notify_followers(self.watching.sink, name, False)

    def _leave(self, scopes: list[str]) -> None:
        """Leave the innermost scope."""
        if scopes:
            scopes.pop()
        self._lines.enter(scopes[-1] if scopes else "")

    def modules(self) -> list[tuple[str, Any]]:
        """The outermost modules that still live, with names."""
        return self._roots.modules()

    def close(self) -> None:
        """Look for what modules were told in vain; break the circle, for a recording to die with its last reference."""
        if self.watching.wants("full"):
            try:
                report_strays(self.watching.sink, self._roots.modules())
            except Exception as failure:  # never the program's business
                report_problem(self.watching, failure)
        self._roots.close()

    def _met(self, name: str, module: Any, caller: FrameType) -> None:
        """Send what an outermost module holds."""
        watching = self.watching
        line = source_line(user_frame(caller))
        parameters, frozen = {}, []
        for dotted, parameter in held_parameters(module):
            parameters[dotted] = watching.number(parameter)
            watching.sink.tensors.name(parameter, dotted, parameter=True)
            if not requires_grad(parameter):
                frozen.append(dotted)
        data: dict[str, Any] = {"name": name, "type": type(module).__name__, "parameters": parameters, "frozen": frozen}
        strangers = {dotted: watching.number(tensor) for dotted, tensor in unregistered(module)}
        if strangers:
            data["unregistered"] = strangers
        if not is_training(module):
            data["training"] = False
        watching.send(Event("module", type(module).__name__, line, data | {"owner": len(self._roots) - 1}))

    # -- optimizers
    def optimizer(self, action: str, optimizer: Any) -> None:
        """An optimizer was made, steps, or clears gradients; what it does within another one's step is part of that."""
        here = self.watching.local.state
        if here.deaf:
            here.within += action != "made"
        else:
            self._works(action, optimizer)

    @guarded
    def _works(self, action: str, optimizer: Any) -> None:
        """An optimizer of the program's own is at work."""
        watching = self.watching
        owner = self._optimizers.find(optimizer)
        caller = sys._getframe(3)
        name = None
        if owner is None:
            owner, name = self._optimizers.of(optimizer), variable_of(optimizer, caller)
        line = source_line(user_frame(caller))
        if line not in self._mentioned:
            watching.sink.mention(line)
            self._mentioned.add(line)
        param_groups = attribute(optimizer, "param_groups")
        groups, settings = [group["params"] for group in param_groups], self._settings.of(param_groups)
        numbers = tuple([self._numbers(group, line) for group in groups])
        if action == "made":
            name_after_modules(watching.sink.tensors, [leaf for group in groups for leaf in group], caller, TensorBase)
        placed = self._parameters.get(numbers) or self._placed(numbers)
        effects: dict[str, Any] = {}
        if (set_at := self._settings_lines.of(owner, settings, watching.sink.files)) is not None:
            effects["set_at"] = list(set_at)
        if action == "step" and watching.wants("full"):
            self._begin_step(optimizer, owner, effects)
        watching.sink.note((_working, line, type(optimizer).__name__, action, owner, name, placed, settings, effects))
        if action == "step":
            watching.sink.stepped(owner)
        if action == "zero_grad" and watching.wants("full"):
            note = watching.sink.note
            for group, row in zip(groups, numbers, strict=True):
                for leaf, number in zip(group, row, strict=True):
                    meta = leaf._meta
                    if meta is not None and meta.grad is not None:
                        note((_clearing, line, number))
        watching.here.quiet = action != "made"

    @guarded
    def scheduled(self, optimizer: Any) -> None:
        """A schedule has set the rates of an optimizer."""
        owner = self._optimizers.find(optimizer)
        if owner is not None:
            settings = self._settings.of(attribute(optimizer, "param_groups"))
            self._settings_lines.scheduled(owner, settings, source_line(user_frame(sys._getframe(1))))

    def _begin_step(self, optimizer: Any, owner: int, effects: dict[str, Any]) -> None:
        """Read what a step finds into ``effects``, which its event tells, and get ready for what it changes."""
        held = _held(optimizer)
        self._look(held, effects)
        self._effects.begin(owner, held)
        self._steps[owner] = _Step(optimizer, owner, effects)

    def _look(self, held: list[Any], effects: dict[str, Any]) -> None:
        """Say what a step finds: which parameters have no gradient, which have one of zeros, …"""
        for key, places in self._effects.found(held).items():
            effects[key] = [self.watching.number(held[place]) for place in places]

    @guarded
    def _end_step(self, optimizer: Any) -> None:
        """Complete what is said of a step that is over."""
        step = self._steps.pop(self._optimizers.of(optimizer), None)
        if step is not None:
            held = _held(optimizer)
            still = self._effects.end(step.owner, held)
            step.effects["still"] = [self.watching.number(held[place]) for place in still]
            if step.effects.get("closure"):
                self._note_part(step, "stepped", {})

    def _note_part(self, step: _Step, action: str, effects: dict[str, Any]) -> None:
        """Note a part of a step that calls a closure."""
        line = source_line(user_frame(sys._getframe(3)))
        self.watching.sink.mention(line)
        numbers = tuple([self._numbers(group["params"], line) for group in attribute(step.optimizer, "param_groups")])
        placed = self._parameters.get(numbers) or self._placed(numbers)
        sort = type(step.optimizer).__name__
        self.watching.sink.note((_working, line, sort, action, step.owner, None, placed, None, effects))

    def _numbers(self, parameters: list[Any], line: SourceLine | None) -> tuple[int, ...]:
        """The numbers of the parameters of a group."""
        found: list[Any] = self.watching.sink.tensors.numbers(parameters)
        if None in found:
            found = [self.watching.number(p, line) for p in parameters]
        return tuple(found)

    def _placed(self, numbers: tuple[tuple[int, ...], ...]) -> dict[str, int]:
        """Parameters by their place among the groups; the steps of an optimizer share what is said of them."""
        placed = {f"{i}.{j}": number for i, group in enumerate(numbers) for j, number in enumerate(group)}
        self._parameters[numbers] = placed
        return placed

    def optimizer_done(self, action: str, optimizer: Any) -> None:
        """It is done."""
        here = self.watching.here
        if here.within:
            here.within -= 1
        else:
            here.quiet = here.deaf = here.elsewhere
            if action == "step":
                self._end_step(optimizer)

    def closure_began(self) -> None:
        """A step calls what the program computes its loss with."""
        here = self.watching.local.state
        if not here.within:
            here.quiet = here.deaf = here.elsewhere
            if self._steps:
                next(reversed(self._steps.values())).effects["closure"] = True

    def closure_ended(self) -> None:
        """The step goes on."""
        here = self.watching.local.state
        if not here.within:
            self._evaluated()
            here.quiet = here.deaf = True

    @guarded
    def _evaluated(self) -> None:
        """Say what a closure left in ``.grad``."""
        if self._steps:
            step, effects = next(reversed(self._steps.values())), dict[str, Any]()
            self._look(_held(step.optimizer), effects)
            self._note_part(step, "evaluated", effects)


def _held(optimizer: Any) -> list[Any]:
    """Return the parameters of an optimizer."""
    return [one for group in attribute(optimizer, "param_groups") for one in group["params"]]


def _working(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of an optimizer; ``Maker``."""
    _, line, sort, *facts = note
    return Event.later("optimizer", sort, line, _at_work, (sort, *facts))


def _at_work(facts: tuple[Any, ...]) -> dict[str, Any]:
    """What is said of an optimizer's work."""
    sort, action, owner, name, parameters, settings, effects = facts
    named = {} if name is None else {"name": name}
    told = {"action": action, "type": sort, "owner": owner, **named, "parameters": parameters}
    return {**told, **({} if settings is None else {"settings": settings}), **effects}


def _clearing(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of a leaf whose gradient an optimizer is about to clear; ``Maker``."""
    _, line, number = note
    return Event.later("leaf", "zero_grad", line, _cleared, (number,))


def _cleared(facts: tuple[Any, ...]) -> dict[str, Any]:
    """What is said of a leaf whose gradient an optimizer is about to clear."""
    return {"tensor": facts[0], "change": "grad-cleared", "value": False}
