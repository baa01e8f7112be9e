"""Functions that are no rows, as tensors with a ``__torch_dispatch__`` see them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..aliasing.versions import share_storage
from ..execution import watchers
from ..tensors.base import TensorBase
from ..tensors.layouts import preserve_format
from . import aten
from .dispatch_classes import ask, asked_of
from .overrides import with_elements

_SIZED = ("new_zeros.default", "new_ones.default", "new_empty.default")
"""Functions whose sizes may be given one by one."""


def overload(full: str) -> aten.RowOverload:
    """The overload with a name such as ``"detach.default"``."""
    opname, _, name = full.partition(".")
    found: aten.RowOverload = getattr(aten.packet(opname), name)
    return found


def asking(full: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, but if the class of an argument has a ``__torch_dispatch__``, that is asked about ``full``."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = asked_of(with_elements((*args, *kwargs.values()))) if watchers.DISPATCHING else None
        if not found:
            return function(*args, **kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        if full.startswith("new_") or "_like." in full:
            kwargs["pin_memory"] = False
        if len(args) > 1 and full in _SIZED:
            args = (args[0], list(args[1:]) if isinstance(args[1], int) else list(args[1]))
        result = ask(overload(full), found, args, kwargs)
        return result._requiring_grad() if requires_grad else result

    return call


def detached(t: TensorBase, *, shares_version: bool = True) -> Any:
    """What the class of ``t`` makes of ``detach``; it counts versions with ``t``."""
    alias = ask(overload("detach.default"), [t], (t,), {})
    if shares_version and isinstance(alias, TensorBase) and alias is not t:
        share_storage(alias, t)
    return alias


def ones_like(t: TensorBase) -> Any:
    """The gradient that a run starts with at ``t``."""
    return ask(overload("ones_like.default"), [t], (t,), {"pin_memory": False, "memory_format": preserve_format})


def scalar_of(t: TensorBase) -> Any:
    """What the class of ``t`` says is its only element."""
    return ask(overload("_local_scalar_dense.default"), [t], (t,), {})


aten.functions.update(detach=lambda t: t.detach(), _local_scalar_dense=lambda t: t.item())
