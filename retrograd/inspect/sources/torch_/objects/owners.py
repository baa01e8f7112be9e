"""Records who owns the parameters of a PyTorch program: modules at first call, optimizers at every action."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from types import FrameType
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....events import Event
from ....program.frames import leave_no_frame, source_line, user_frame
from ....program.modules import attribute, held_parameters, is_training
from ....program.names import unregistered
from ...module_names import name_after_modules, variable_of
from ...object_numbers import ObjectNumbers
from ...optimizer_settings import GroupSettings, SettingsLines
from ...step_effects import StepEffects
from ..calls.tensors import number_of, numbers_of
from ..library import LIBRARY
from ..problems import unseen
from ..watching.pause import OptimizerPause
from .step_reader import StepReader


class _Held(NamedTuple):
    """The parameters of an optimizer, as they were told last."""

    sizes: list[int]
    """Of its groups."""
    numbers: list[int]
    parameters: dict[str, int]


class _Step(NamedTuple):
    """A step under way, or what a closure left."""

    found: dict[str, list[int]]
    """As ``StepEffects.found`` tells it."""
    closure: bool
    events: list[tuple[Any, Event]]
    """A watch, and the event that told it of the beginning."""

    def tell(self, watch: Any, event: Event, numbers: list[int]) -> None:
        """Put into an event what was found."""
        if watch.level == "full":
            for key, places in self.found.items():
                event.data[key] = [numbers[place] for place in places]
            if self.closure:
                event.data["closure"] = True
            self.events.append((watch, event))


class Owners:
    """Reports to every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]], pause: OptimizerPause) -> None:
        self._watches = watches
        self._pause = pause
        self._modules = 0
        self._optimizers = ObjectNumbers()
        self._settings = GroupSettings()
        self._settings_lines = SettingsLines()
        self._held: BoundedDict[int, _Held] = BoundedDict(1_000)
        """By the number of the optimizer, which its class need not let be hashed."""
        self._effects = StepEffects(StepReader())
        self._steps: BoundedDict[int, _Step] = BoundedDict(1_000)
        """Steps under way, by the same number."""

    # -- modules
    def module(self, name: str, module: Any, caller: FrameType) -> None:
        """An outermost module was called for the first time."""
        number, self._modules = self._modules, self._modules + 1
        unseen(self._report_module, name, module, caller, number)

    def _report_module(self, name: str, module: Any, caller: FrameType, owner: int) -> None:
        """Tell every recording which parameters an outermost module holds, and under which names."""
        line = source_line(user_frame(caller))
        named = held_parameters(module)
        frozen = [dotted for dotted, parameter in named if not parameter.requires_grad]
        kind = type(module).__name__
        strangers = unregistered(module)
        for watch in self._watches():
            table = watch.sink.tensors
            numbers = numbers_of(table, [parameter for _, parameter in named])
            parameters = {dotted: number for (dotted, _), number in zip(named, numbers, strict=True)}
            for dotted, parameter in named:
                table.name(parameter, dotted, parameter=True)
            data: dict[str, Any] = {"name": name, "type": kind, "parameters": parameters, "frozen": frozen}
            data["owner"] = owner
            if not is_training(module):
                data["training"] = False
            if strangers:
                data["unregistered"] = {dotted: number_of(table, tensor) for dotted, tensor in strangers}
            watch.sink(Event("module", op=kind, source=line, data=data))

    # -- optimizers
    def wrap_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they were made."""

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            unseen(self._report_optimizer, "made", optimizer, sys._getframe(1))

        return __init__

    def wrap_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they clear gradients."""

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._pause.end()  # of a step that raised, or whose closure this is
            unseen(self._report_optimizer, "zero_grad", optimizer, sys._getframe(1))
            to_none = args[0] if args else kwargs.get("set_to_none", True)
            if not to_none:  # writes into gradients, which a graph may have saved
                original(optimizer, *args, **kwargs)
                return
            self._pause.begin()
            try:
                original(optimizer, *args, **kwargs)
            finally:
                self._pause.end()

        return zero_grad

    def step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """An optimizer steps; return the arguments that it is to have if it is to call a closure of the program's."""
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        unseen(self._report_optimizer, "step", optimizer, sys._getframe(1), closure is not None)
        computes = closure is not None or bool(attribute(optimizer, "defaults").get("differentiable"))
        self._pause.begin(computes=computes)
        if not callable(closure):
            return None
        heard = self._heard(closure, optimizer)
        return ((args[0], heard, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "closure": heard})

    def _heard(self, closure: Callable[[], Any], optimizer: Any) -> Callable[[], Any]:
        """Return what an optimizer calls in place of a closure, to tell what each call left in ``.grad``."""

        @functools.wraps(closure, updated=())
        def heard(*args: Any, **kwargs: Any) -> Any:
            self._pause.end()
            try:
                result = closure(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            unseen(self._report_optimizer, "evaluated", optimizer, sys._getframe(0))
            self._pause.begin(computes=True)
            return result

        return heard

    def step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """It has stepped; this is not told of one that raised."""
        unseen(self._report_step, optimizer)
        self._pause.end()

    def _report_step(self, optimizer: Any) -> None:
        """Complete the event of a step by what it did, and say that it is over if others happened meanwhile."""
        owner = self._optimizers.of(optimizer)
        step = self._steps.pop(owner, None)
        if step is None:
            return
        held = [one for group in attribute(optimizer, "param_groups") for one in group["params"]]
        still = self._effects.end(owner, held)
        for watch, event in step.events:
            numbers = numbers_of(watch.sink.tensors, held)
            event.data["still"] = [numbers[place] for place in still]
            if _in_group():
                event.data["held_after"] = _by_tensor(numbers, self._effects.contents(owner))
            if step.closure:
                data = {"action": "stepped", "type": event.op, "owner": owner}
                watch.sink(Event("optimizer", op=event.op, source=event.source, data=data))

    def _report_optimizer(self, action: str, optimizer: Any, caller: FrameType, closure: bool = False) -> None:
        """Tell every recording what an optimizer does, and with which parameters and settings."""
        owner = self._optimizers.of(optimizer)
        line, kind = source_line(user_frame(caller)), type(optimizer).__name__
        name = variable_of(optimizer, caller, deep=False)
        param_groups = attribute(optimizer, "param_groups")
        groups, settings = [group["params"] for group in param_groups], self._settings.of(param_groups)
        held, sizes = list(chain.from_iterable(groups)), list(map(len, groups))
        found = self._found(action, owner, held, closure)
        for watch in self._watches():
            numbers = numbers_of(watch.sink.tensors, held, source=line)
            if action == "made":
                name_after_modules(watch.sink.tensors, held, caller, LIBRARY.torch.Tensor)
            parameters = self._parameters(owner, sizes, numbers)
            data = {"action": action, "type": kind, "owner": owner, "name": name, "parameters": parameters}
            data["settings"] = settings
            if (set_at := self._settings_lines.of(owner, settings, watch.sink.files)) is not None:
                data["set_at"] = list(set_at)
            event = Event("optimizer", op=kind, source=line, data=data)
            if found is not None:
                found.tell(watch, event, numbers)
                if action == "step" and _in_group():
                    event.data["held_before"] = _by_tensor(numbers, self._effects.contents(owner))
            watch.sink(event)
            if action == "step":
                watch.sink.stepped(owner)

    def scheduled(self, optimizer: Any, caller: FrameType) -> None:
        """A schedule has set the rates of an optimizer."""
        settings = self._settings.of(attribute(optimizer, "param_groups"))
        self._settings_lines.scheduled(self._optimizers.of(optimizer), settings, source_line(user_frame(caller)))

    def _found(self, action: str, owner: int, held: list[Any], closure: bool) -> _Step | None:
        """Look at what a step finds, or a closure left, if that is to be told."""
        if action not in ("step", "evaluated") or all(watch.level != "full" for watch in self._watches()):
            return None
        found = _Step(self._effects.found(held), closure, [])
        if action == "step":
            self._effects.begin(owner, held)
            self._steps[owner] = found
        return found

    def _parameters(self, owner: int, sizes: list[int], numbers: list[int]) -> dict[str, int]:
        """Return the numbers of an optimizer's parameters by group and place; events of equal ones share them."""
        known = self._held.get(owner)
        if known is None or known.sizes != sizes or known.numbers != numbers:
            names = (f"{group}.{place}" for group, size in enumerate(sizes) for place in range(size))
            known = self._held[owner] = _Held(sizes, numbers, dict(zip(names, numbers, strict=True)))
        return known.parameters


def _in_group() -> bool:
    """Whether the program is one of several processes that may hold the same parameters."""
    distributed: Any = LIBRARY.torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)


def _by_tensor(numbers: list[int], contents: list[int | None]) -> dict[str, int]:
    """Return what tensors hold, by their numbers as texts."""
    return {str(number): one for number, one in zip(numbers, contents, strict=False) if one is not None}
