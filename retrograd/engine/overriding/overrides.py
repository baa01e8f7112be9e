"""``__torch_function__``: classes and modes that override functions and methods on their tensors.

Nothing of this costs a program that does not use it: only when the first subclass of ``Tensor`` is defined or the
first mode is entered are the public functions replaced by wrappers (``wrappers.install``).  The engine itself
calls operators beneath them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import late
from ..core.base import TensorBase
from .asking_order import asking_order


class _Here(threading.local):
    """What one thread has switched on."""

    subclasses_off = False
    all_off = False

    def __init__(self) -> None:
        self.modes: list[Any] = []


HERE = _Here()
NAMES: dict[Any, str] = {}
"""Overridable function -> its name from ``torch`` on."""
INSTALLED = False
"""Whether the public functions are wrapped (``wrappers.install``); they stay so until the program ends."""
_NUMBERS_AND_TEXT = frozenset({int, float, bool, str, complex, type(None), slice})


def with_elements(values: Iterable[Any]) -> Iterator[Any]:
    """Arguments, and the elements of those that are lists."""
    for value in values:
        if value.__class__ is list or value.__class__ is tuple:
            yield from value
        else:
            yield value


class _Disabled:
    """A context in which ``__torch_function__`` is not asked; each has its own switch."""

    switch = ""

    def __enter__(self) -> None:
        self.before = getattr(HERE, self.switch)
        setattr(HERE, self.switch, True)

    def __exit__(self, *exc: object) -> None:
        setattr(HERE, self.switch, self.before)


class DisableTorchFunctionSubclass(_Disabled):
    """Within this block only modes are asked, not subclasses."""

    __module__ = "retrograd._C"

    switch = "subclasses_off"


class DisableTorchFunction(_Disabled):
    """Within this block neither modes nor subclasses are asked."""

    __module__ = "retrograd._C"

    switch = "all_off"


@contextmanager
def beneath() -> Iterator[None]:
    """Within this block, for work of the engine such as rules of backward, neither modes nor subclasses are asked."""
    if not INSTALLED:
        yield
        return
    with DisableTorchFunction():
        yield


def disabled_torch_function_impl(
    func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """The ``__torch_function__`` of classes whose results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def default_torch_function(
    cls: type, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """What ``Tensor.__torch_function__`` does: call ``func``, and give its results the subclass ``cls``."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in _unconverted() else _as(result, cls)


def _unconverted() -> tuple[Any, ...]:
    """Attributes whose values stay what they are."""
    tensor: Any = late.tensor_class
    return (tensor._base.__get__, tensor.grad.__get__)


def _as(value: Any, cls: type) -> Any:
    if cls is late.tensor_class:
        return value
    if isinstance(value, TensorBase) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, (tuple, list)):  # also lists as long as tuples with names
        made = [_as(v, cls) for v in value]
        return type(value)._make(made) if hasattr(value, "_make") else type(value)(made)
    return value


def overrides_functions(value: Any) -> bool:
    """Whether a value's class has a ``__torch_function__`` of its own (a plain tensor's does not count)."""
    cls = value.__class__
    if cls is late.tensor_class or cls in _NUMBERS_AND_TEXT or isinstance(value, type):
        return False
    return answers(cls)


def answers(cls: type) -> bool:
    """Whether a class has a ``__torch_function__`` that is not switched off."""
    own = getattr(cls, "__torch_function__", None)
    return own is not None and getattr(own, "__func__", own) is not disabled_torch_function_impl


def overloaded(values: Iterable[Any]) -> list[Any]:
    """One value of each overriding class, in the order in which they are asked."""
    return asking_order(values, overrides_functions)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether some argument or mode would be called now."""
    values = tuple(relevant_args)
    if HERE.all_off or HERE.subclasses_off:
        return bool(HERE.modes) and not HERE.all_off
    return bool(HERE.modes) or any(overrides_functions(v) for v in values)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the innermost mode, then each class among ``relevant_args``, until one does not return ``NotImplemented``.

    ``TypeError`` if all of them do.
    """
    found = [] if HERE.subclasses_off else asking_order(relevant_args, _has_torch_function)
    return asked(public_api, found, args, kwargs)


def _has_torch_function(value: Any) -> bool:
    """Whether a value's class has a ``__torch_function__``, a plain tensor's too."""
    return value.__class__ is late.tensor_class or overrides_functions(value)


def asked(public_api: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, else the classes of ``found`` answer; ``TypeError`` if none of them does."""
    types = tuple(type(v) for v in found)
    if HERE.modes:
        mode = HERE.modes.pop()
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            HERE.modes.append(mode)
        if result is not NotImplemented:
            return result
    for value in found:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    refused = "".join(f"\n\n  - tensor subclass {t}" for t in types)
    raise TypeError(
        f"Multiple dispatch failed for '{resolve_name(public_api)}'; all __torch_function__ handlers returned "
        f"NotImplemented:{refused}"
    )


def resolve_name(f: Any) -> str | None:
    """The public name of an overridable function, such as ``"torch.Tensor.add"``; ``None`` for others."""
    return NAMES.get(f) or _accessor_name(f)


def _accessor_name(f: Any) -> str | None:
    """``"torch.Tensor.shape.__get__"`` for what reads an attribute, and the like for what sets it."""
    what = getattr(f, "__name__", "")
    if what not in ("__get__", "__set__"):
        return None
    for cls in late.tensor_class.__mro__:
        for name, accessor in vars(cls).items():
            if accessor is getattr(f, "__self__", None):
                return f"torch.Tensor.{name}.{what}"
    return None
