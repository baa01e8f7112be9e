"""Observes modes being switched: autocast, grad mode and inference mode, transforms of ``torch.func``."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CodeType, FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import is_foreign, read_locals, source_line
from ....recording.events import Event
from ...base import Sink
from ...call_data import Levels, Transforms, functional_call
from ...grad_switches import ENTERED, LEFT, SET, GradSwitches, Modes, Switching, place_of
from ...patches import Patches
from ..calls.calls import Call, is_traced
from ..calls.tensors import dtype_name, numbers_of
from ..library import LIBRARY
from ..own_work import is_of_torch
from ..private import private
from ..problems import unseen

# Observes `torch.autocast` being entered and left.


class Autocasts:
    """Sends events to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Wrap the class from which those of single devices are derived."""
        for name in ("__enter__", "__exit__"):
            patches.wrap(LIBRARY.torch.autocast, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        action = ENTERED if original.__name__ == "__enter__" else LEFT

        def switching(autocast: Any, *args: Any) -> Any:
            result = original(autocast, *args)
            if not is_traced():
                unseen(self._report, action, autocast, getframe(2))
            return result

        return switching

    def _report(self, action: str, autocast: Any, caller: FrameType) -> None:
        torch: Any = LIBRARY.torch
        device = autocast.device
        place = place_of(caller, (str(sys.modules[torch.autocast.__module__].__file__),), is_of_torch)
        data = {"action": action, "enabled": torch.is_autocast_enabled(device)}
        data |= {"dtype": dtype_name(torch.get_autocast_dtype(device)), **place.callee_data()}
        for watch in self._watches():
            watch.sink(Event("autocast", device, source_line(place.frame), dict(data)))


# Observes grad mode and inference mode being switched.

_ACTIONS = {"__enter__": ENTERED, "__exit__": LEFT, "__call__": LEFT}
"""What the methods of PyTorch's context managers do; used as a decorator, one that acts at once undoes it."""


@functools.cache
def _files() -> tuple[str, ...]:
    """Return the files of PyTorch's grad modes, and of what makes decorators of them."""
    modules: Any = sys.modules
    manager: Any = LIBRARY.torch.no_grad
    return tuple(str(modules[one.__module__].__file__) for one in manager.__mro__[:-1])


def switches_of(sink: Sink) -> GradSwitches:
    """Return the grad switches of a recording."""
    return GradSwitches(sink, _files(), is_of_torch)


def hear(switches: GradSwitches, call: Call) -> None:
    """Note a call of ``_set_grad_enabled``."""
    if call.error is not None:
        return
    frame, method, holder = _who_switches(getframe(1))
    enabled = bool(next(iter((*call.args, *call.kwargs.values()))))
    now = Modes(enabled and not call.inference, call.inference)
    op = call.rule.op if holder is None else type(holder).__name__
    before = Modes(call.grad, call.inference)
    switches.switched(Switching(_ACTIONS.get(method, SET), holder, op, before, now), frame)


def _who_switches(frame: FrameType | None) -> tuple[FrameType | None, str, Any]:
    """Return the frame that called PyTorch, and the method and object, if it was a method call."""
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
        """Wrap its methods."""
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


# Reads which transforms of `torch.func` a call is inside, and observes `functional_call`.


def transforms_of(sink: Sink) -> Transforms:
    """Return the transforms of a recording."""
    return Transforms(sink, _function_of)


def levels_now() -> Levels:
    """Return the levels that are open on this thread."""
    return tuple(str(level.key()).rpartition(".")[2].lower() for level in private().transforms() or ())


@functools.cache
def _places() -> tuple[str, frozenset[str]]:
    """Return the folder that defines transforms, and the names of the public ones."""
    torch: Any = LIBRARY.torch
    return os.path.join(os.path.dirname(str(torch.__file__)), "_functorch", ""), frozenset(vars(torch.func))


def _function_of(code: CodeType) -> str:
    folder, names = _places()
    function = code.co_qualname.partition(".")[0]
    return function if code.co_filename.startswith(folder) and function in names else ""


class FunctionalCalls:
    """Sends events to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Wrap the function that both of PyTorch's names lead to."""
        patches.wrap(sys.modules.get("torch.nn.utils.stateless"), "_functional_call", self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _functional_call(module: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_traced():
                unseen(self._report, given, getframe(2))
            return original(module, given, *args, **kwargs)

        return _functional_call

    def _report(self, given: Any, caller: FrameType) -> None:
        tensors = dict(given) if isinstance(given, Mapping) else {}
        for watch in self._watches():
            watch.sink(functional_call(tensors, caller, partial(numbers_of, watch.sink.tensors)))
