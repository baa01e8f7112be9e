"""Records training calls other than steps: modes of modules, loaded states, schedules, scaling, clipping."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FrameType, GeneratorType
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ...base import Watch
from ...patches import Patches
from ...writers.training import ModuleChanges, tell_clip, tell_load, tell_mode, tell_scaling
from ..library import LIBRARY
from ..problems import unseen

# Records `clip_grad_norm_` and `clip_grad_value_`, also where there is nothing to clip.

_BOUNDS = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
"""Function -> its parameter for the bound."""


class Clipping:
    """Sends events to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Watch]], run: Callable[[], int | None]) -> None:
        self._watches, self._run = watches, run

    def install(self, patches: Patches) -> None:
        """Wrap both functions, under either of the names by which programs import them."""
        torch: Any = LIBRARY.torch
        for holder in (torch.nn.utils.clip_grad, torch.nn.utils):
            for name in _BOUNDS:
                patches.wrap(holder, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make one of them report whose gradients it clips."""
        name = original.__name__

        def clip(*args: Any, **kwargs: Any) -> Any:
            given = args[0] if args else kwargs.get("parameters")
            bound, caller = args[1] if len(args) > 1 else kwargs.get(_BOUNDS[name]), getframe(1)
            read, passed = _as_read(given)
            if passed is given:
                unseen(self._report, name, read, bound, False, caller)
                return original(*args, **kwargs)
            if args:
                args = (passed, *args[1:])
            else:
                kwargs = {**kwargs, "parameters": passed}
            try:
                return original(*args, **kwargs)
            finally:
                unseen(self._report, name, read, bound, True, caller)

        return clip

    def _report(self, name: str, read: Any, bound: Any, read_once: bool, caller: FrameType) -> None:
        line = source_line(user_frame(caller))
        parameters = [read] if isinstance(read, LIBRARY.torch.Tensor) else list(read)
        for watch in self._watches():
            tell_clip(watch, name, parameters, bound, self._run(), line, read_once=read_once)


def _as_read(given: Any) -> tuple[Any, Any]:
    """Return what will hold the parameters afterwards, and a substitute for ``given``, which may be readable only once.

    A generator stays one, since PyTorch warns of an empty one.
    """
    read: list[Any] = []
    if isinstance(given, GeneratorType):
        return read, _noted(given, read)
    if isinstance(given, Iterator):
        return read, map(partial(_note, read), given)
    return given, given


def _noted(given: Iterator[Any], read: list[Any]) -> Iterator[Any]:
    for one in given:
        yield _note(read, one)


def _note(read: list[Any], one: Any) -> Any:
    read.append(one)
    return one


# Records training calls other than steps: modes of modules, loaded states, schedules, scaling.

_SCALING = ("scale", "unscale_", "step")


class TrainingCalls:
    """Sends events to every recording that watches the thread, and schedules to ``scheduled``."""

    def __init__(self, watches: Callable[[], Iterable[Watch]], scheduled: Callable[[Any, FrameType], None]) -> None:
        self._watches = watches
        self._scheduled = scheduled
        self._changes = ModuleChanges()

    def install(self, patches: Patches) -> None:
        """Make PyTorch's functions report their calls; missing ones are left out."""
        torch: Any = LIBRARY.torch
        patches.wrap(torch.nn.Module, "train", self._wrap_train)
        patches.wrap(torch.nn.Module, "load_state_dict", self._wrap_load)
        schedules: Any = sys.modules.get("torch.optim.lr_scheduler")
        base = getattr(schedules, "LRScheduler", None)
        for schedule in [one for one in vars(schedules).values() if _is_schedule(one, base)] if base else ():
            for name in ("__init__", "step"):
                if name in vars(schedule):
                    patches.wrap(schedule, name, self._wrap_schedule)
        scaler = getattr(torch.amp, "GradScaler", None)
        for name in _SCALING if scaler is not None else ():
            patches.wrap(scaler, name, self._wrap_scaling)

    # -- modules
    def _wrap_train(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make modules report a switch of mode; the modules inside are part of it."""

        def train(module: Any, *args: Any, **kwargs: Any) -> Any:
            mode = args[0] if args else kwargs.get("mode", True)
            if type(mode) is bool:
                unseen(self._report_mode, module, mode, getframe(1))
            return original(module, *args, **kwargs)

        return train

    def _report_mode(self, module: Any, mode: bool, caller: FrameType) -> None:
        changed = self._changes.switched(module, mode)
        line = source_line(user_frame(caller)) if changed else None
        for watch in self._watches() if changed else ():
            tell_mode(watch, module, self._changes.number(module), changed, mode, line)

    def _wrap_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make modules report how a state fitted them."""

        def load_state_dict(module: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(module, *args, **kwargs)
            state = args[0] if args else kwargs.get("state_dict")
            unseen(self._report_load, module, state, result, getframe(1))
            return result

        return load_state_dict

    def _report_load(self, module: Any, state: Any, result: Any, caller: FrameType) -> None:
        for watch in self._watches():
            tell_load(watch, module, state, result, source_line(user_frame(caller)))

    # -- optimizers
    def _wrap_schedule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make schedules report that they set learning rates."""

        def scheduling(schedule: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(schedule, *args, **kwargs)
            optimizer = getattr(schedule, "optimizer", None)
            if optimizer is not None:
                unseen(self._scheduled, optimizer, getframe(1))
            return result

        return scheduling

    def _wrap_scaling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make gradient scalers report what they scale, and when gradients are unscaled."""
        name = original.__name__

        def scaling(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(scaler, *args, **kwargs)
            if scaler.is_enabled():
                unseen(self._report_scaling, name, next(iter((*args, *kwargs.values())), None), getframe(1))
            return result

        return scaling

    def _report_scaling(self, name: str, given: Any, caller: FrameType) -> None:
        for watch in self._watches():
            tell_scaling(watch, name, given, source_line(user_frame(caller)))


def _is_schedule(value: Any, base: Any) -> bool:
    return isinstance(value, type) and issubclass(value, base)
