"""Functions outside the operator table, as dispatch modes and tensors with a ``__torch_dispatch__`` receive them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..aliasing.versions import share_storage
from ..core.base import TensorBase, wrap
from ..core.layouts import preserve_format
from ..switches import state, watchers
from . import aten
from .dispatch_classes import ask, asked_of, is_dispatching
from .overrides import with_elements

_SIZED = ("new_zeros.default", "new_ones.default", "new_empty.default")
"""Functions whose sizes may be given one by one."""


def overload(full: str) -> aten.RowOverload:
    """The overload with a name such as ``"detach.default"``."""
    opname, _, name = full.partition(".")
    found: aten.RowOverload = getattr(aten.packet(opname), name)
    return found


def heard() -> bool:
    """Whether a dispatch mode is on."""
    return state.MODE > 0 and bool(state.STATE.dispatch_modes)


def is_asked(t: TensorBase) -> bool:
    """Whether a dispatch mode or the class of a tensor is to be asked about what is done to it."""
    return is_dispatching(t) or heard()


def _classes(t: TensorBase) -> list[Any]:
    return [t] if is_dispatching(t) else []


def asking(full: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, but dispatch modes, or the class of an argument, are asked about ``full``."""

    parameters = list(inspect.signature(function).parameters.values())
    defaults = [p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = asked_of(with_elements((*args, *kwargs.values()))) if watchers.DISPATCHING else []
        if not found and not heard():
            return function(*args, **kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        args, kwargs = _without_defaults(defaults, args, kwargs)
        if full.startswith("new_") or "_like." in full:
            kwargs["pin_memory"] = False
        if len(args) > 1 and full in _SIZED:
            args = (args[0], list(args[1:]) if isinstance(args[1], int) else list(args[1]))
        args = tuple([list(a) if isinstance(a, tuple) else a for a in args])
        result = ask(overload(full), found, args, kwargs)
        return result._requiring_grad() if requires_grad else result

    return call


def _without_defaults(defaults: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Arguments as the dispatcher shows them: without defaults at the end, or by keyword."""
    while args and len(args) <= len(defaults) and args[-1] is not None and args[-1] == defaults[len(args) - 1]:
        args = args[:-1]
    return args, {name: value for name, value in kwargs.items() if value is not None}


def detached(t: TensorBase, *, shares_version: bool = True) -> Any:
    """What modes or the class of ``t`` make of ``detach``; it counts versions with ``t``."""
    alias = ask(overload("detach.default"), _classes(t), (t,), {}) if is_asked(t) else wrap(t._array, shares=True)
    if shares_version and isinstance(alias, TensorBase) and alias is not t:
        share_storage(alias, t)
    return alias


def ones_like(t: TensorBase) -> Any:
    """The gradient that a run starts with at ``t``."""
    return ask(
        overload("ones_like.default"), _classes(t), (t,), {"pin_memory": False, "memory_format": preserve_format}
    )


def scalar_of(t: TensorBase) -> Any:
    """What modes or the class of ``t`` say is its only element."""
    return ask(overload("_local_scalar_dense.default"), _classes(t), (t,), {})


aten.functions.update(detach=lambda t: t.detach(), _local_scalar_dense=lambda t: t.item())
