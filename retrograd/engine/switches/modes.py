"""Grad modes: functions, context managers and decorators that switch recording on and off in a thread."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import observe
from ..core.argument_checks import check_bool
from ..warning import warn
from .state import STATE, enter_mode, leave_mode, set_grad_enabled_here


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    if STATE.through is not None:
        return bool(STATE.through.enabled)
    return STATE.grad_enabled or STATE.grad_enabled_above


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference


def _tell(action: str, switched: Any, grad: bool, inference: bool) -> None:
    """Let observers know that a mode was switched, and what was in force before.

    By an object that is entered or left, or by the function of a name.
    """
    before, now = (grad and not inference, inference), (STATE.grad_enabled and not STATE.inference, STATE.inference)
    observe.notify("grad_switched", action, switched, before, now)


def _switch(switched: Any, enabled: bool, action: str) -> bool:
    """Switch recording in this thread, which an object or a function does; what it was before."""
    through = STATE.through
    before = set_grad_enabled_here(enabled) if through is None else through.switch(enabled)
    if observe.observers:
        _tell(action, switched, before, STATE.inference)
    return before


@contextmanager
def unrecorded() -> Iterator[None]:
    """In the block nothing is recorded, for the engine itself: not even where a program's modes are only noted."""
    through, STATE.through = STATE.through, None
    before = set_grad_enabled_here(False)
    try:
        yield
    finally:
        set_grad_enabled_here(before)
        STATE.through = through


def switch_for_good(enabled: bool, function: str) -> None:
    """Switch recording in this thread, for a function of this name."""
    _switch(function, enabled, "set")


class ModeContext:
    """A context manager that also decorates functions, generators and coroutines.

    A decorated generator has the mode on whenever it runs and off whenever it is suspended; the same holds for
    coroutines (PyTorch leaves those uncovered).
    """

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """A fresh context with the same arguments."""
        return type(self)()

    def __call__(self, func: Any) -> Any:
        return context_decorator(self.clone, func)


def context_decorator(ctx_factory: Callable[[], Any], func: Any) -> Any:
    """Run ``func`` under a fresh context per call."""
    if inspect.isclass(func):
        warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
        )
    if inspect.isgeneratorfunction(func):
        return _decorate_generator(ctx_factory, func)
    if inspect.iscoroutinefunction(func):
        return _decorate_coroutine(ctx_factory, func)

    @functools.wraps(func)
    def decorate_context(*args: Any, **kwargs: Any) -> Any:
        with ctx_factory():
            return func(*args, **kwargs)

    return decorate_context


def _decorate_generator(ctx_factory: Callable[[], Any], func: Any) -> Any:
    @functools.wraps(func)
    def decorate_context(*args: Any, **kwargs: Any) -> Any:
        return (yield from _steps(ctx_factory, func(*args, **kwargs)))

    return decorate_context


def _decorate_coroutine(ctx_factory: Callable[[], Any], func: Any) -> Any:
    @functools.wraps(func)
    async def decorate_context(*args: Any, **kwargs: Any) -> Any:
        return await _Awaitable(ctx_factory, func(*args, **kwargs))

    return decorate_context


class _Awaitable:
    def __init__(self, ctx_factory: Callable[[], Any], coroutine: Any) -> None:
        self.ctx_factory, self.coroutine = ctx_factory, coroutine

    def __await__(self) -> Any:
        return (yield from _steps(self.ctx_factory, self.coroutine))


def _steps(ctx_factory: Callable[[], Any], gen: Any) -> Any:
    """Resume ``gen`` under the mode; suspend outside of it."""
    try:
        with ctx_factory():
            response = gen.send(None)
        while True:
            try:
                request = yield response
            except GeneratorExit:
                with ctx_factory():
                    gen.close()
                raise
            except BaseException as error:
                with ctx_factory():
                    response = gen.throw(error)
            else:
                with ctx_factory():
                    response = gen.send(request)
    except StopIteration as stop:
        return stop.value


def _left(block: Any) -> Any:
    """What leaving the innermost block of an object in this thread restores, however often it was entered.

    What was before is kept by the thread, not by the object, which several threads may be inside of; ``prev`` of the
    object is what was before the block left last, which leaving once more restores again.
    """
    blocks = STATE.mode_blocks
    for place in range(len(blocks) - 1, -1, -1):
        if blocks[place][0] is block:
            block.prev = blocks.pop(place)[1]
            break
    return block.prev


class _GradMode(ModeContext):
    """Base of ``no_grad`` and ``enable_grad``."""

    mode: bool
    prev: bool

    def __new__(cls, func: Any = None) -> Any:
        made = object.__new__(cls)
        return made if func is None else made(func)

    def __enter__(self) -> None:
        STATE.mode_blocks.append((self, _switch(self, self.mode, "entered")))

    def __exit__(self, *exc: object) -> None:
        _switch(self, _left(self), "left")


class no_grad(_GradMode):  # noqa: N801 - torch's name
    """Do not record operations: context manager, or decorator with or without parentheses."""

    __module__ = "retrograd.autograd.grad_mode"

    mode = False
    prev = False


class enable_grad(_GradMode):  # noqa: N801
    """Record operations again inside ``no_grad``."""

    __module__ = "retrograd.autograd.grad_mode"

    mode = True


class set_grad_enabled(ModeContext):  # noqa: N801
    """Switch recording on or off: acts at once; as a context manager restores what was before; ``TypeError`` for a
    non-bool."""

    __module__ = "retrograd.autograd.grad_mode"

    def __init__(self, mode: bool) -> None:
        check_bool("set_grad_enabled", "enabled", mode, 1)
        self.mode = mode
        self.prev = _switch(self, mode, "set")

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __enter__(self) -> None:
        _switch(self, self.mode, "entered")

    def __exit__(self, *exc: object) -> None:
        _switch(self, self.prev, "left")

    def clone(self) -> Any:
        """The same mode again."""
        return type(self)(self.mode)

    def __call__(self, func: Any) -> Any:
        _switch(self, self.prev, "left")
        mode = self.mode
        return context_decorator(lambda: set_grad_enabled(mode), func)


class inference_mode(ModeContext):  # noqa: N801
    """Record nothing and track no versions; results are inference tensors."""

    __module__ = "retrograd.autograd.grad_mode"

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def clone(self) -> Any:
        """The same mode again."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        before = STATE.inference, STATE.grad_enabled, STATE.forward_grad_enabled
        STATE.mode_blocks.append((self, before))
        _set_inference(self.mode)
        STATE.forward_grad_enabled = not self.mode
        set_grad_enabled_here(not self.mode)
        if observe.observers:
            _tell("entered", self, before[1], before[0])

    def __exit__(self, *exc: object) -> None:
        within = STATE.grad_enabled, STATE.inference
        inference, grad, STATE.forward_grad_enabled = _left(self)
        _set_inference(inference)
        set_grad_enabled_here(grad)
        if observe.observers:
            _tell("left", self, *within)


def _set_inference(on: bool) -> None:
    if STATE.inference is not on:
        STATE.inference = on
        enter_mode() if on else leave_mode()
