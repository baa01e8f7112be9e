"""Hears what the owners of parameters do in a PyTorch program: modules at first call, optimizers at every action."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import leave_no_frame
from ....program.modules import attribute
from ...base import Watch
from ...module_names import Called
from ...writers.owners import Optimizers, tell_module
from ..library import LIBRARY
from ..problems import unseen
from ..watching.pause import OptimizerPause
from .step_reader import StepReader


class Owners:
    """Reports to every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Watch]], pause: OptimizerPause) -> None:
        self._watches = watches
        self._pause = pause
        self._optimizers = Optimizers(StepReader(), LIBRARY.torch.Tensor, _in_group)

    def module(self, called: Called) -> None:
        """A module was called outside of others for the first time."""
        for watch in self._watches():
            unseen(tell_module, watch, called)

    # -- optimizers
    def wrap_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they were made."""

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._works("made", optimizer, getframe(1))

        return __init__

    def wrap_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they clear gradients."""

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._pause.end()  # of a step that raised, or whose closure this is
            self._works("zero_grad", optimizer, getframe(1))
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
        self._works("step", optimizer, getframe(1))
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
            unseen(self._optimizers.calls_closure, optimizer)
            try:
                result = closure(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            self._works("evaluated", optimizer, getframe(0))
            self._pause.begin(computes=True)
            return result

        return heard

    def step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """It has stepped; this is not told of one that raised."""
        unseen(self._optimizers.stepped, optimizer)
        self._pause.end()

    def scheduled(self, optimizer: Any, caller: FrameType) -> None:
        """A schedule has set the rates of an optimizer."""
        self._optimizers.scheduled(optimizer, caller)

    def _works(self, action: str, optimizer: Any, caller: FrameType) -> None:
        unseen(self._optimizers.works, self._watches(), action, optimizer, caller)


def _in_group() -> bool:
    """Whether the program is one of several processes that may hold the same parameters."""
    distributed: Any = LIBRARY.torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)
