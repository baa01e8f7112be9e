"""The ``TorchFunctionMode`` that sees every function a thread calls and notes which user line made which nodes."""

from __future__ import annotations

import functools
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
    """Return the mode's class, made when PyTorch is there."""
    torch: Any = LIBRARY.torch
    names = private()
    counter, is_compiling, jit_state = names.sequence_number, names.is_compiling, names.tracing_state
    caller, handler, tensor = Caller(), torch.overrides.handle_torch_function.__code__, torch.Tensor

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
            before, heard, came = counter(), None, PENDING
            asked = caller.of_python if getframe(1).f_code is handler else caller.of_c
            rule, run = asked(func, args, kwargs)
            try:
                if (rule is FACT and before == self.marks.end) or not self.active or jit_state() is not None:
                    return run[0](*run[1], **run[2])
                if self.listeners and rule.kind != "ignored" and not self.inside.optimizer:
                    heard = caller.begin(rule, args, kwargs, self.marks, before)
                func, args, kwargs = run
                try:
                    came = func(*args, **kwargs)  # by no function of ours: programs may recurse deeply
                    return came
                except BaseException as error:
                    if heard is not None:
                        heard.error = error
                    raise
                finally:
                    after = counter()
                    if after != self.marks.end:
                        given = (*args, *kwargs.values()) if kwargs else args
                        in_place = any(map(is_, given, repeat(came)))
                        _note(self.marks, before, after, getframe(1), rule, in_place=in_place)
                    if heard is not None:
                        heard.result = None if came is PENDING else came
                        caller.end(heard, getframe(1), after, self.listeners, self.inside)
                    if not self.marks.muted and (after == before or type(came) is not tensor or self.severing.known):
                        _follow(self, rule, args, kwargs, came, before, getframe(1))
                    heard = came = None
            except BaseException as error:
                leave_no_frame(error)
                raise

    return OriginMode


PENDING = object()
"""What came out of a call that has not ended."""


def _follow(mode: Any, rule: Rule, args: Any, kwargs: Any, result: Any, before: int, caller: FrameType) -> None:
    """Let values be followed that a call took out of the graph, or into it."""
    try:
        inside = mode.inside
        if result is not PENDING and inside.run is None and not (inside.functions or inside.optimizer):
            mode.severing.heard(rule, args, kwargs, result, mode.marks, before, caller)
    except Exception as problem:
        note_problem(problem)


def _note(marks: Marks, before: int, after: int, caller: FrameType, rule: Rule, *, in_place: bool) -> None:
    """Note the nodes of one call, and those made since the last one: a custom Function is not seen itself."""
    try:
        if before > marks.end:
            marks.gap(before, applying_frame(caller, _defines_apply) or marks.line)
        frame = user_frame(caller) if marks.settled is None else marks.settled.frame
        marks.note(before, after, frame, rule.written or rule.op, in_place=in_place)
    except Exception as problem:
        note_problem(problem)


def _defines_apply(file: str) -> bool:
    """Whether a file defines ``Function.apply``: PyTorch's file, or ours that replaces it."""
    return file == functions.__file__ or (file.endswith("function.py") and "torch" in file)


def push_mode(marks: Marks, severed: SeveredTensors, inside: Inside) -> Any:
    """Put a new mode on the stack of the current thread, which is ``inside`` of this, and return it."""
    mode = _mode_class()(marks, severed, threading.get_ident(), inside)
    private().push_mode(mode)
    return mode


def pop_mode(mode: Any) -> bool:
    """Take a mode off if it is on top, so that it can be put back where it was; False if it is not."""
    names = private()
    count = names.count_modes()
    if not count or names.mode_at(count - 1) is not mode:
        return False
    names.pop_mode()
    return True


def put_back(mode: Any, above: int = 0) -> None:
    """Put a mode that was taken off back, below as many modes as it stood below."""
    names = private()
    taken = [names.pop_mode() for _ in range(min(above, names.count_modes()))]
    names.push_mode(mode)
    while taken:
        names.push_mode(taken.pop())


def put_on(mode: Any) -> bool:
    """Put a mode on top if it is not on (a mode is off while it handles a function); False if it is on."""
    names = private()
    if mode in names.modes():
        return False
    names.push_mode(mode)
    return True


def take_off(mode: Any) -> int | None:
    """Take a mode off the current thread's stack; return how many are above it, None if it is not there."""
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
    """The pause of whichever thread it is asked on."""

    def __init__(self, thread: Any) -> None:
        self._thread = thread
        """What belongs to one thread: its ``mode``, whether that is ``paused``, and what it is ``inside`` of."""

    def begin(self, *, computes: bool = False, writes: bool = True) -> None:
        """An optimizer works: its calls are no events, and not even seen unless it ``computes`` with a graph.

        Where it does not write, as while it sets gradients to None, that is no step.
        """
        self._thread.inside.optimizer = True
        self._thread.inside.steps += writes
        mode = self._thread.mode
        if mode is not None and not computes and not self._thread.paused:
            self._thread.paused = pop_mode(mode)

    def end(self) -> None:
        """The optimizer is done: from now on everything is seen, and all calls are events again."""
        self._thread.inside.optimizer = False
        if self._thread.paused:
            self._thread.paused = False
            if self._thread.mode is not None and self._thread.mode.active:
                put_back(self._thread.mode)
