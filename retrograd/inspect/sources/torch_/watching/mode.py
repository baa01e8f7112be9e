"""The ``TorchFunctionMode`` that sees every function a thread calls and notes which user line made which nodes."""

from __future__ import annotations

import functools
import os
import threading
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import applying_frame, leave_no_frame, user_frame
from ...origins import Marks
from ...severed import SeveredTensors
from ..calls.calls import Caller, Inside, Listener
from ..calls.rules import FACT, Rule
from ..calls.severing import Severing
from ..library import LIBRARY
from ..objects import functions
from ..private import private
from ..problems import note_problem

# The `TorchFunctionMode` that sees every function a thread calls and notes which user line made which nodes.


@functools.cache
def _mode_class() -> type:
    """Return the mode's class, made once PyTorch is imported."""
    torch: Any = LIBRARY.torch
    names = private()
    counter, is_compiling, jit_state = names.sequence_number, names.is_compiling, names.tracing_state
    caller, handler, tensor = Caller(), torch.overrides.handle_torch_function.__code__, torch.Tensor
    of_c, of_python, begin, end = caller.of_c, caller.of_python, caller.begin, caller.end

    class OriginMode(torch.overrides.TorchFunctionMode):
        """Notes lines for one thread; passes every call on unchanged."""

        def __init__(self, marks: Marks, severed: SeveredTensors, thread: int, inside: Inside) -> None:
            self.marks = marks
            self.severing = Severing(severed)
            self.thread = thread
            self.inside = inside
            self.active = True
            self.listeners: tuple[Listener, ...] = ()

        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            kwargs = kwargs or {}
            if is_compiling():  # as is_traced, but for each call
                return func(*args, **kwargs)
            before, call, came, marks = counter(), None, PENDING, self.marks
            rule, run = (of_python if getframe(1).f_code is handler else of_c)(func, args, kwargs)
            try:
                if (rule is FACT and before == marks.end) or not self.active or jit_state() is not None:
                    return run[0](*run[1], **run[2])
                if self.listeners and rule.kind != "ignored" and not self.inside.optimizer:
                    call = begin(rule, args, kwargs, marks, before)
                func, args, kwargs = run
                try:
                    came = func(*args, **kwargs)  # by no function of ours: programs may recurse deeply
                    return came
                except BaseException as error:
                    if call is not None:
                        call.error = error
                    raise
                finally:
                    after = counter()
                    if after != marks.end:
                        given = (*args, *kwargs.values()) if kwargs else args
                        _note(marks, before, after, getframe(1), rule, in_place=any(map(is_, given, repeat(came))))
                    if call is not None:
                        call.result = None if came is PENDING else came
                        end(call, getframe(1), after, self.listeners, self.inside)
                    if (after == before or type(came) is not tensor or self.severing.known) and not marks.muted:
                        _follow(self, rule, args, kwargs, came, before, getframe(1))
                    call = came = None
            except BaseException as error:
                leave_no_frame(error)
                raise

    return OriginMode


PENDING = object()
"""Result of a call that has not ended."""


def _follow(mode: Any, rule: Rule, args: Any, kwargs: Any, result: Any, before: int, caller: FrameType) -> None:
    """Follow values that a call took out of the graph, or into it."""
    try:
        inside = mode.inside
        if result is not PENDING and inside.run is None and not (inside.functions or inside.optimizer):
            mode.severing.after_call(rule, args, kwargs, result, mode.marks, before, caller)
    except Exception as problem:
        note_problem(problem)


def _note(marks: Marks, before: int, after: int, caller: FrameType, rule: Rule, *, in_place: bool) -> None:
    """Note the nodes of one call, and those made since the last one: a custom Function is not seen itself."""
    try:
        if before > marks.end:
            marks.gap(before, applied_from(caller) or marks.line)
        frame = user_frame(caller) if marks.settled is None else marks.settled.frame
        marks.note(before, after, frame, rule.written or rule.op, in_place=in_place)
    except Exception as problem:
        note_problem(problem)


_COMPILED = os.path.join("torch", "_dynamo", "eval_frame.py")
_CALLING = os.path.join("torch", "nn", "modules", "module.py")


def applied_from(caller: FrameType) -> FrameType | None:
    """Return the user's frame that applied the custom Function which runs; of a compiled region, that called it."""
    frame = applying_frame(caller, _defines_apply)
    around = None if frame is None else frame.f_back
    while around is not None and around.f_code.co_filename.endswith(_CALLING):
        around = around.f_back
    if around is not None and around.f_code.co_filename.endswith(_COMPILED):
        return user_frame(around)  # what is compiled has no lines of its own
    return frame


def _defines_apply(file: str) -> bool:
    """Whether a file defines ``Function.apply``: PyTorch's file, or ours that replaces it."""
    return file == functions.__file__ or (file.endswith("function.py") and "torch" in file)


def push_mode(marks: Marks, severed: SeveredTensors, inside: Inside) -> Any:
    """Push a new mode on the stack of the current thread, which is in state ``inside``, and return it."""
    mode = _mode_class()(marks, severed, threading.get_ident(), inside)
    private().push_mode(mode)
    return mode


def pop_mode(mode: Any) -> bool:
    """Pop a mode if it is on top, so that it can be put back; False if it is not."""
    names = private()
    count = names.count_modes()
    if not count or names.mode_at(count - 1) is not mode:
        return False
    names.pop_mode()
    return True


def put_back(mode: Any, above: int = 0) -> None:
    """Put a popped mode back below as many modes as before."""
    names = private()
    taken = [names.pop_mode() for _ in range(min(above, names.count_modes()))]
    names.push_mode(mode)
    while taken:
        names.push_mode(taken.pop())


def put_on(mode: Any) -> bool:
    """Push a mode if it is not on the stack (it is off while it handles a function); False if it is."""
    names = private()
    if mode in names.modes():
        return False
    names.push_mode(mode)
    return True


def take_off(mode: Any) -> int | None:
    """Remove a mode from the current thread's stack; return how many were above it, None if it is not there."""
    names = private()
    if mode not in names.modes():
        return None
    above = []
    while (top := names.pop_mode()) is not mode:
        above.append(top)
    count = len(above)
    while above:
        names.push_mode(above.pop())
    return count


# Suspends the function mode of a thread during an optimizer step, which makes many calls and no graph.


class OptimizerPause:
    """The pause of the current thread."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread
        """State of each thread: its ``mode``, whether it is ``paused``, and what it is ``inside`` of."""

    def begin(self, *, computes: bool = False, writes: bool = True) -> None:
        """Pause for an optimizer: its calls are not events, and only observed if it ``computes`` with a graph.

        If it does not write, as when it sets gradients to None, it does not count as a step.
        """
        self._thread.inside.optimizer = True
        self._thread.inside.steps += writes
        mode = self._thread.mode
        if mode is not None and not computes and not self._thread.paused:
            self._thread.paused = pop_mode(mode)

    def end(self) -> None:
        """End the pause: all calls are observed and events again."""
        self._thread.inside.optimizer = False
        if self._thread.paused:
            self._thread.paused = False
            if self._thread.mode is not None and self._thread.mode.active:
                put_back(self._thread.mode)
