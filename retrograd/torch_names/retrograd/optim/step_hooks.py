"""Hooks around steps of optimizers: those of one optimizer, and those of all."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..engine import observe
from ..engine.nodes.hooks import RemovableHandle

Hook = Callable[..., Any]
_BEFORE_ALL: OrderedDict[int, Hook] = OrderedDict()
_AFTER_ALL: OrderedDict[int, Hook] = OrderedDict()


def added(hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Put a hook behind the others, or before them."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of any optimizer."""
    return added(_BEFORE_ALL, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return added(_AFTER_ALL, hook)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a class with hooks around it; those before it may give it other arguments."""

    ours = step.__module__.startswith(__package__)

    @functools.wraps(step)
    def step_with_hooks(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, after = self._hooks["before"], self._hooks["after"]
        given: tuple[Any, ...] = (self, *args)
        for hook in (*_BEFORE_ALL.values(), *before.values()):
            given, kwargs = _replaced(step, hook(self, given, kwargs), given, kwargs)
        self._opt_called = True  # schedules ask for it
        result = step(*given, **kwargs) if ours or not observe.observers else _told(step, given, kwargs)
        for hook in (*after.values(), *_AFTER_ALL.values()):
            hook(self, given, kwargs)
        return result

    step_with_hooks.hooked = True  # type: ignore[attr-defined]
    return step_with_hooks


def _told(step: Callable[..., Any], given: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Take a step that a program wrote as observers hear of ours: it is one event, but for what its closure calls."""
    given = tuple(_closure(one) if place == 1 and callable(one) else one for place, one in enumerate(given))
    if callable(kwargs.get("closure")):
        kwargs = {**kwargs, "closure": _closure(kwargs["closure"])}
    with observe.optimizer_call("step", given[0]):
        return step(*given, **kwargs)


def _closure(closure: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(closure, updated=())
    def called() -> Any:
        with observe.closure_call():
            return closure()

    return called


def _replaced(step: Any, answer: Any, given: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments that a hook answers with, or those that were there."""
    if answer is None:
        return given, kwargs
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
    return answer
