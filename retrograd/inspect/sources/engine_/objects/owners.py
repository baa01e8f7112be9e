"""Observes modules and optimizers, tracks which module is running, and observes training calls other than steps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .....engine.core.base import TensorBase
from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ....program.places import SourceLine
from ... import named_scopes
from ...array_values import has_data
from ...module_names import Called, Roots, below
from ...step_effects import content_of, is_zero
from ...stray_attributes import StrayAttributes
from ...writers.owners import Optimizers, tell_module
from ...writers.training import ModuleChanges, tell_clip, tell_load, tell_mode, tell_scaling
from ..backward.lines import Lines
from ..calls.caller import note_module
from ..watching import Observer, Watching, guarded, report_problem

# Observes modules and optimizers, and tracks which module is running.


class StepReader:
    """The ``Reader`` of our engine."""

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter a key that differs if its values do."""
        return [_content(parameter._array) for parameter in parameters]

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each whether ``.grad`` is none or zero."""
        return [_state(parameter._meta) for parameter in parameters]

    def values(self, parameters: Sequence[Any]) -> list[Any]:
        """Return the array of each."""
        return [one._array if has_data(one._array) else None for one in parameters]

    def place(self, parameter: Any) -> Hashable:
        """Return the array of a parameter and its version, which writes through NumPy do not change."""
        return id(parameter._array), parameter._version


def _content(array: Any) -> Hashable:
    if not has_data(array) or not array.size:
        return None
    return content_of(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _state(meta: Any) -> str | None:
    gradient = None if meta is None else meta.grad
    if gradient is None:
        return "none"
    array = gradient._array
    return "zero" if has_data(array) and is_zero(array) else None


_OURS = "retrograd.nn.modules."


class Owners(Observer):
    """Sends ``module`` and ``optimizer``."""

    def __init__(self, watching: Watching, lines: Lines) -> None:
        super().__init__(watching)
        self._lines = lines
        self._call: Any = None
        self._roots = Roots(self._report_contents)
        self._strays = StrayAttributes(watching.sink)
        lines.modules = self._roots.modules
        self._optimizers = Optimizers(StepReader(), TensorBase, watching.sink.among_ranks)
        self._stepping: list[Any] = []
        """Optimizers that are stepping, innermost last."""

    # -- modules
    @guarded
    def module_began(self, module: Any) -> None:
        """Note that a module is called."""
        scopes = self.watching.here.scopes
        call = type(module).__call__.__code__
        if call is not self._call:
            self._call = call
            note_module(call)
        modules = self.watching.here.modules
        around = modules[-1] if modules else ""
        path = self._roots.path(module, around, getframe(1))
        scopes.append(path if len(scopes) == len(modules) else f"{scopes[-1]}/{below(path, around)}")
        modules.append(path)
        kind = type(module)
        self._lines.module(scopes[-1], kind.__name__)
        words = self.watching.here.words
        words.append(kind.__name__ if kind.__module__.startswith(_OURS) and not module._modules else "")
        self._lines.enter(scopes[-1], words[-1])

    @guarded
    def module_ended(self, module: Any) -> None:
        """Note that it has returned."""
        here = self.watching.here
        if here.modules:
            here.modules.pop()
            here.words.pop()
            self._leave(here.scopes)

    @guarded
    def scope_began(self, name: str) -> None:
        """Note that a named scope of the user begins."""
        scopes = self.watching.here.scopes
        scopes.append(f"{scopes[-1]}/{name}" if scopes else name)
        self._lines.enter(scopes[-1])
        named_scopes.notify_followers(self.watching.sink, name, True)

    @guarded
    def scope_ended(self, name: str) -> None:
        """Note that it ends."""
        self._leave(self.watching.here.scopes)
        named_scopes.notify_followers(self.watching.sink, name, False)

    def _leave(self, scopes: list[str]) -> None:
        """Leave the innermost scope."""
        if scopes:
            scopes.pop()
        words = self.watching.here.words
        self._lines.enter(scopes[-1] if scopes else "", words[-1] if words else "")

    def close(self) -> None:
        """Report attributes on modules that switch nothing, and break the reference cycle, which frees recordings."""
        if self.watching.wants("full"):
            try:
                self._strays.look(self._roots.modules())
            except Exception as failure:  # never the program's business
                report_problem(self.watching, failure)
        self._roots.close()

    @guarded
    def backward_began(self, roots: Any) -> None:
        """Note that a backward pass begins."""
        if self.watching.wants("full"):
            self._strays.run_begins(self._roots.modules)

    def _report_contents(self, called: Called) -> None:
        """Send the contents of an outermost module."""
        tell_module(self.watching, called)

    # -- optimizers
    def optimizer(self, action: str, optimizer: Any) -> None:
        """Note that an optimizer was made, steps, or clears gradients; nested calls belong to the outer step."""
        here = self.watching.local.state
        if here.suppressed:
            here.within += action != "made"
        else:
            self._works(action, optimizer)

    @guarded
    def _works(self, action: str, optimizer: Any) -> None:
        """Note that one of the program's own optimizers is running."""
        if action == "step":
            self._stepping.append(optimizer)
        self.watching.here.quiet = action != "made"
        self._optimizers.works((self.watching,), action, optimizer, getframe(3))

    @guarded
    def scheduled(self, optimizer: Any) -> None:
        """Note that a schedule has set the rates of an optimizer."""
        self._optimizers.scheduled(optimizer, getframe(1))

    def optimizer_done(self, action: str, optimizer: Any) -> None:
        """Note that it has finished."""
        here = self.watching.here
        if here.within:
            here.within -= 1
        else:
            here.quiet = here.suppressed = here.elsewhere
            if action == "step":
                self._end_step(optimizer)

    @guarded
    def _end_step(self, optimizer: Any) -> None:
        """Note that a step has ended."""
        if self._stepping:
            self._stepping.pop()
        self._optimizers.stepped(optimizer)

    def closure_began(self) -> None:
        """Note that a step calls its closure."""
        here = self.watching.local.state
        if not here.within:
            here.quiet = here.suppressed = here.elsewhere
            if self._stepping:
                self._optimizers.calls_closure(self._stepping[-1])

    def closure_ended(self) -> None:
        """Note that the closure has returned."""
        here = self.watching.local.state
        if not here.within:
            self._evaluated()
            here.quiet = here.suppressed = True

    @guarded
    def _evaluated(self) -> None:
        """Send what a closure left in ``.grad``."""
        if self._stepping:
            self._optimizers.works((self.watching,), "evaluated", self._stepping[-1], getframe(3))


# Observes training calls other than steps: modes of modules, loaded states, scaling, clipping.


class TrainingCalls(Observer):
    """Sends ``mode``, ``load`` and ``scaling``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._changes = ModuleChanges()

    @guarded
    def switching(self, module: Any, mode: bool) -> None:
        """Note that a module is about to be switched."""
        changed = self._changes.switched(module, mode)
        if changed:
            tell_mode(self.watching, module, self._changes.number(module), changed, mode, _line())

    @guarded
    def state_loaded(self, module: Any, state: Any, result: Any) -> None:
        """Note that a state was loaded into a module."""
        tell_load(self.watching, module, state, result, _line())

    @guarded
    def scaling(self, function: str, optimizer: Any) -> None:
        """Note that a loss was scaled, gradients were unscaled, or the scaler took a step."""
        tell_scaling(self.watching, function, optimizer, _line())


class Clipping(Observer):
    """Sends ``clip``, also where there is nothing to clip."""

    @guarded
    def clipping(self, function: str, parameters: list[Any], bound: Any, read_once: bool) -> None:
        """Note that gradients are about to be clipped."""
        tell_clip(self.watching, function, parameters, bound, self.watching.run_number, _line(), read_once=read_once)


def _line() -> SourceLine | None:
    return source_line(user_frame(getframe(2)))
