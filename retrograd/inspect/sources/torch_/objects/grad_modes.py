"""Observes grad mode and inference mode being switched."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import is_foreign, read_locals
from ...base import Sink
from ...grad_switches import ENTERED, LEFT, SET, GradSwitches, Modes, Switching
from ...patches import Patches
from ..calls.calls import Call
from ..library import LIBRARY
from ..own_work import is_of_torch
from ..problems import unseen

_ACTIONS = {"__enter__": ENTERED, "__exit__": LEFT, "__call__": LEFT}
"""What the methods of PyTorch's context managers do; used as a decorator, one that acts at once takes that back."""


@functools.cache
def _files() -> tuple[str, ...]:
    """Return the files of PyTorch's grad modes, and of what makes decorators of them."""
    modules: Any = sys.modules
    manager: Any = LIBRARY.torch.no_grad
    return tuple(str(modules[one.__module__].__file__) for one in manager.__mro__[:-1])


def switches_of(sink: Sink) -> GradSwitches:
    """Return what follows the switches of a recording."""
    return GradSwitches(sink, _files(), is_of_torch)


def hear(switches: GradSwitches, call: Call) -> None:
    """Take a call of ``_set_grad_enabled``."""
    if call.error is not None:
        return
    frame, method, holder = _who_switches(getframe(1))
    enabled = bool(next(iter((*call.args, *call.kwargs.values()))))
    now = Modes(enabled and not call.inference, call.inference)
    op = call.rule.op if holder is None else type(holder).__name__
    before = Modes(call.grad, call.inference)
    switches.switched(Switching(_ACTIONS.get(method, SET), holder, op, before, now), frame)


def _who_switches(frame: FrameType | None) -> tuple[FrameType | None, str, Any]:
    """Return the frame that called PyTorch, and which method of which of its objects, if it was one."""
    while frame is not None and is_foreign(frame.f_code) and not is_of_torch(frame.f_code):
        frame = frame.f_back  # ours
    method, holder = "", None
    while frame is not None and frame.f_code.co_filename == _files()[0]:
        if holder is None or frame.f_code.co_name in _ACTIONS:  # ``no_grad`` makes a ``set_grad_enabled`` for itself
            method, holder = frame.f_code.co_name, read_locals(frame).get("self")
        frame = frame.f_back
    return frame, method, holder


class InferenceMode:
    """Wraps ``inference_mode``, which function modes do not see."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Begin to listen."""
        for name in ("__enter__", "__exit__"):
            patches.wrap(LIBRARY.torch.inference_mode, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        action = _ACTIONS[original.__name__]

        def switching(holder: Any, *args: Any) -> Any:
            before = _modes()
            result = original(holder, *args)
            unseen(self._report, action, holder, before, getframe(2))
            return result

        return switching

    def _report(self, action: str, holder: Any, before: Modes, frame: FrameType) -> None:
        for watch in self._watches():
            switching = Switching(action, holder, type(holder).__name__, before, _modes())
            watch.forward.switches.switched(switching, frame)


def _modes() -> Modes:
    torch: Any = LIBRARY.torch
    inference = torch.is_inference_mode_enabled()
    return Modes(torch.is_grad_enabled() and not inference, inference)
