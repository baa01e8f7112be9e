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
STATE_TABLES = (
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def start_hooks(self: Any) -> None:
    """No hooks yet."""
    for table in (*TABLES, *STATE_TABLES):
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
    if observe.observers:
        observe.notify("hooking", "module", self, hook)
    handle = register(table, hook)
    if prepend:
        table.move_to_end(handle.id, last=False)
    if with_kwargs:
        self._with_kwargs.add(handle.id)
    return handle


# -- for every module
_GLOBAL: dict[str, OrderedDict[int, Hook]] = {table: OrderedDict() for table in TABLES}
"""Hooks of all modules, by the table of each module that they come before."""


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the ``forward`` of any module."""
    return register(_GLOBAL["_forward_pre_hooks"], hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the ``forward`` of any module."""
    if with_kwargs or always_call:
        raise NotImplementedError("with_kwargs and always_call are only there for hooks of one module")
    return register(_GLOBAL["_forward_hooks"], hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of any module."""
    return register(_GLOBAL["_backward_pre_hooks"], hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of any module."""
    return register(_GLOBAL["_backward_hooks"], hook)


register_module_backward_hook = register_module_full_backward_hook


def hooks_of(self: Any, table: str) -> list[tuple[int, Hook]]:
    """Numbers and hooks in the order of calling: those of all modules first."""
    return [*_GLOBAL[table].items(), *self.__dict__[table].items()]


# -- calling
def call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run ``forward`` with the hooks around it."""
    if not observe.observers:
        return _call(self, *args, **kwargs)
    observe.notify("module_began", self)
    try:
        return _call(self, *args, **kwargs)
    finally:
        observe.notify("module_ended", self)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    own = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
    if not own and not any(_GLOBAL.values()):
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
    """Call ``forward`` with all hooks around it; ``called`` gets the numbers of the forward hooks that have run."""
    for number, hook in hooks_of(self, "_forward_pre_hooks"):
        args, kwargs = _before_forward(self, number, hook, args, kwargs)
    around = None
    full = self._is_full_backward_hook is not False
    before, after = hooks_of(self, "_backward_pre_hooks"), hooks_of(self, "_backward_hooks") if full else []
    if before or after:
        around = BackwardHooks(self, [hook for _, hook in before], [hook for _, hook in after])
        args = around.around_inputs(args)
    output = self.forward(*args, **kwargs)
    for number, hook in hooks_of(self, "_forward_hooks"):
        called.add(number)
        changed = _after_forward(self, number, hook, args, kwargs, output)
        output = output if changed is None else changed
    if around is not None:
        return around.around_outputs(output)
    if self._backward_hooks and not full:
        hook_last_node(self, output)
    return output


def _before_forward(
    self: Any, number: int, hook: Hook, args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Run one forward pre-hook and return the arguments, which it may have replaced."""
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
