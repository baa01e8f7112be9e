"""``__torch_dispatch__`` on tensor classes: such a class handles every operator below autograd.

Operators record on the tensors that the program sees; what their computation would be, the class is asked, with
recording and tangents off.  While no such tensor lives (``watchers.DISPATCHING`` counts them), nothing looks for them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.base import PLAIN_CLASSES, TensorBase
from ..switches import watchers
from ..switches.modes import is_grad_enabled, no_grad
from ..switches.state import STATE
from .asking_order import asking_order


class _Here(threading.local):
    off = False


_HERE = _Here()


class DisableTorchDispatch:
    """Within this block classes are not asked: operators compute on the data that the tensors have themselves."""

    def __init__(self) -> None:
        self.before = _HERE.off
        _HERE.off = True

    def __enter__(self) -> None:
        _HERE.off = True

    def __exit__(self, *exc: object) -> None:
        _HERE.off = self.before

    def __del__(self) -> None:
        _HERE.off = self.before


def disabled_torch_dispatch_impl(
    func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """The ``__torch_dispatch__`` of ``Tensor``: compute, whatever the classes of the operands."""
    before, _HERE.off = _HERE.off, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _HERE.off = before


def has_dispatch(cls: type) -> bool:
    """Whether a class has a ``__torch_dispatch__`` of its own."""
    own = getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl)
    return own is not disabled_torch_dispatch_impl and own is not None


def dispatches(t: Any) -> bool:
    """Whether the class of a tensor is to be asked now."""
    cls = t.__class__
    return cls not in PLAIN_CLASSES and not _HERE.off and isinstance(t, TensorBase) and has_dispatch(cls)


def is_dispatching(t: TensorBase) -> bool:
    """The same, for where there is usually no such tensor."""
    return watchers.DISPATCHING > 0 and dispatches(t)


def count(t: Any) -> None:
    """Note a tensor of such a class, or a node whose gradients may be such, as long as it lives."""
    watchers.appear_dispatching()
    weakref.finalize(t, watchers.vanish_dispatching).atexit = False


def asked_of(values: Iterable[Any]) -> list[Any]:
    """One tensor of each class to be asked, in the order in which they are."""
    return asking_order(values, dispatches)


@contextmanager
def beneath_autograd() -> Iterator[None]:
    """Within this block nothing records and no tangents flow."""
    before = STATE.forward_grad_enabled, STATE.grad_enabled_above, STATE.in_handler
    STATE.forward_grad_enabled, STATE.grad_enabled_above, STATE.in_handler = False, is_grad_enabled(), True
    try:
        with no_grad():
            yield
    finally:
        STATE.forward_grad_enabled, STATE.grad_enabled_above, STATE.in_handler = before


def ask(func: Any, found: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost dispatch mode, else the classes of ``found`` make of a call.

    ``TypeError`` if all of them return ``NotImplemented``.
    """
    types = tuple([type(v) for v in found])
    with beneath_autograd():
        if STATE.dispatch_modes:
            mode = STATE.dispatch_modes.pop()
            try:
                return mode._intercept_call(func, args, kwargs, types)
            finally:
                STATE.dispatch_modes.append(mode)
        for value in found:
            result = value.__torch_dispatch__(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    refused = "".join(f"\n\n  - tensor subclass {t}" for t in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:"
        f"{refused}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )
