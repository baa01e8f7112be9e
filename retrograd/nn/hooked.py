"""How a module is called, with its hooks before and after forward and around backward.

These are methods of ``Module``, written apart from its parameters and children.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..engine import observe
from ..engine.nodes.hooks import RemovableHandle, register
from .backward_hooks import BackwardHooks, hook_last_node

Hook = Callable[..., Any]
TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def start_hooks(self: Any) -> None:
    """No hooks yet."""
    for table in TABLES:
        self.__dict__[table] = OrderedDict()
    self.__dict__.update(_with_kwargs=set(), _always_called=set(), _is_full_backward_hook=None)


# -- registering
def register_forward_pre_hook(
    self: Any, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args[, kwargs])`` before ``forward``; it may return others."""
    return _register(self, self._forward_pre_hooks, hook, prepend, with_kwargs)


def register_forward_hook(
    self: Any, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args[, kwargs], output)`` after ``forward``; it may return another output.

    With ``always_call`` also when ``forward`` raises; the output is ``None`` then.
    """
    handle = _register(self, self._forward_hooks, hook, prepend, with_kwargs)
    if always_call:
        self._always_called.add(handle.id)
    return handle


def register_full_backward_pre_hook(self: Any, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the module's backward; it may return other gradients."""
    return _register(self, self._backward_pre_hooks, hook, prepend)


def register_full_backward_hook(self: Any, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after it; it may return other gradients of the inputs."""
    _backward_hooks_are(self, full=True)
    return _register(self, self._backward_hooks, hook, prepend)


def register_backward_hook(self: Any, hook: Hook) -> RemovableHandle:
    """The old form: ``grad_input`` is what the module's last operation passes on."""
    _backward_hooks_are(self, full=False)
    return _register(self, self._backward_hooks, hook)


def _backward_hooks_are(self: Any, full: bool) -> None:
    if self._is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
            "one of them."
        )
    self.__dict__["_is_full_backward_hook"] = full


def _register(
    self: Any, table: OrderedDict[int, Hook], hook: Hook, prepend: bool = False, with_kwargs: bool = False
) -> RemovableHandle:
    handle = register(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    if with_kwargs:
        self._with_kwargs.add(handle.id)
    return handle


# -- calling
def call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run ``forward`` with the hooks around it."""
    if not observe.observers:
        return _call(self, *args, **kwargs)
    observe.tell("module_began", self)
    try:
        return _call(self, *args, **kwargs)
    finally:
        observe.tell("module_ended", self)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks):
        return self.forward(*args, **kwargs)
    called: set[int] = set()
    try:
        return _hooked_call(self, args, kwargs, called)
    except Exception:
        for number, hook in list(self._forward_hooks.items()):
            if number in self._always_called - called:
                _after_forward(self, number, hook, args, kwargs, None)
        raise


def _hooked_call(self: Any, args: Any, kwargs: dict[str, Any], called: set[int]) -> Any:
    for number, hook in list(self._forward_pre_hooks.items()):
        args, kwargs = _before_forward(self, number, hook, args, kwargs)
    around = None
    if self._backward_pre_hooks or (self._backward_hooks and self._is_full_backward_hook):
        around = BackwardHooks(self)
        args = around.around_inputs(args)
    output = self.forward(*args, **kwargs)
    for number, hook in list(self._forward_hooks.items()):
        called.add(number)
        changed = _after_forward(self, number, hook, args, kwargs, output)
        output = output if changed is None else changed
    if around is not None:
        return around.around_outputs(output)
    if self._backward_hooks:
        hook_last_node(self, output)
    return output


def _before_forward(
    self: Any, number: int, hook: Hook, args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    if number in self._with_kwargs:
        changed = hook(self, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        return changed
    changed = hook(self, args)
    if changed is None:
        return args, kwargs
    return (changed if isinstance(changed, tuple) else (changed,)), kwargs


def _after_forward(self: Any, number: int, hook: Hook, args: Any, kwargs: dict[str, Any], output: Any) -> Any:
    if number in self._with_kwargs:
        return hook(self, args, kwargs, output)
    return hook(self, args, output)
