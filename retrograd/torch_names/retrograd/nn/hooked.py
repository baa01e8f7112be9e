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
_global_is_full: bool | None = None
"""Of which kind the backward hooks of all modules are, once there was one."""
_REGISTRATION: dict[str, OrderedDict[int, Hook]] = {t: OrderedDict() for t in ("_parameters", "_buffers", "_modules")}
"""Hooks that hear of everything that is put into one of these tables of a module."""


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
    _global_backward_hooks_are(full=True)
    return register(_GLOBAL["_backward_hooks"], hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The old form, for any module: ``grad_input`` is what its last operation passes on."""
    _global_backward_hooks_are(full=False)
    return register(_GLOBAL["_backward_hooks"], hook)


def _global_backward_hooks_are(full: bool) -> None:
    global _global_is_full
    if _global_is_full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    _global_is_full = full


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, param)`` for each parameter that a module gets; it may return another one."""
    return register(_REGISTRATION["_parameters"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for each buffer that a module gets; it may return another one."""
    return register(_REGISTRATION["_buffers"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` for each module within a module; it may return another one."""
    return register(_REGISTRATION["_modules"], hook)


def registered(module: Any, table: str, name: str, value: Any) -> Any:
    """What hooks leave of a value that is put into a table of a module, or put in its place."""
    for hook in list(_REGISTRATION[table].values()):
        replaced = hook(module, name, value)
        value = value if replaced is None else replaced
    return value


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
    before = [hook for _, hook in hooks_of(self, "_backward_pre_hooks")]
    after, old = _backward_hooks_by_kind(self)
    if before or after:
        around = BackwardHooks(self, before, after)
        args = around.around_inputs(args)
    output = self.forward(*args, **kwargs)
    for number, hook in hooks_of(self, "_forward_hooks"):
        called.add(number)
        changed = _after_forward(self, number, hook, args, kwargs, output)
        output = output if changed is None else changed
    if around is not None:
        output = around.around_outputs(output)
    if old:
        hook_last_node(self, old, output)
    return output


def _backward_hooks_by_kind(self: Any) -> tuple[list[Hook], list[Hook]]:
    """Full backward hooks and old ones, each those of all modules before the module's own."""
    kinds: tuple[list[Hook], list[Hook]] = [], []
    for is_full, hooks in (
        (_global_is_full, _GLOBAL["_backward_hooks"]),
        (self._is_full_backward_hook, self._backward_hooks),
    ):
        kinds[is_full is False].extend(hooks.values())
    return kinds


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
