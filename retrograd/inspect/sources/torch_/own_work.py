"""Isolates our own work on the program's tensors from its modes, subclasses and patches."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

from ....locks import reentrant_lock
from ..patches import OURS
from .library import LIBRARY
from .private import private

_IN_C = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType)


@functools.cache
def _folder() -> str:
    return os.path.join(os.path.dirname(str(LIBRARY.torch.__file__)), "")


def is_of_torch(func: Any) -> bool:
    """Whether a function, its code, or a class attribute is PyTorch's own, not the program's."""
    kind = type(func)
    if kind is FunctionType:
        return is_of_torch(func.__code__)
    if kind is CodeType:
        return bool(func.co_filename.startswith(_folder()))
    if kind is property:
        return is_of_torch(func.fget)
    if kind is MethodWrapperType:  # access to an attribute
        return is_of_torch(func.__self__)
    if kind in (staticmethod, classmethod):
        return is_of_torch(func.__func__)
    return kind in _IN_C or kind.__module__.partition(".")[0] == "torch"


class _OwnWork:
    """Knows the program's replacements of C functions in ``torch.Tensor``, and removes them temporarily."""

    def __init__(self) -> None:
        torch: Any = LIBRARY.torch
        self._tensor, self._held = torch.Tensor, vars(torch.Tensor)
        self._in_c = vars(torch._C.TensorBase)
        self._detach = self._in_c["detach"]
        self._disabled, self._count_modes = private().unobserved, private().count_modes
        self._length = len(self._held) - len(self.patches())
        """Number of entries of an unpatched class."""
        self._lock, self.depth = reentrant_lock(), 0
        self._hidden: dict[str, Any] = {}

    def patches(self) -> dict[str, Any]:
        """Return the program's replacements of tensor methods and attributes."""
        found = {}
        for name, value in self._held.items():
            original = self._in_c.get(name)
            if original is None or value is original or (is_of_torch(value) and type(value) not in _IN_C):
                continue
            if type(value) is not FunctionType or value not in OURS:
                found[name] = value
        return found

    def is_unpatched(self) -> bool:
        """Whether the class is known to be unpatched without checking each entry."""
        return len(self._held) == self._length and self._held.get("detach") is self._detach

    def is_needless(self) -> bool:
        """Whether work with plain tensors is unobserved anyway: no mode is on, and nothing is patched."""
        held = self._held  # as ``is_unpatched``, for each call of the program
        return len(held) == self._length and held.get("detach") is self._detach and not self._count_modes()

    def begin(self) -> AbstractContextManager[Any]:
        """Return the context manager for our own work."""
        if self.is_unpatched():
            return self._disabled()  # type: ignore[no-any-return]
        if not self.depth and not self.patches():
            self._length = len(self._held)  # the program has only added to the class
            return self._disabled()  # type: ignore[no-any-return]
        return _Unpatched(self)

    def hide(self) -> None:
        """Remove the program's patches."""
        with self._lock:
            self.depth += 1
            if self.depth == 1:
                self._hidden = self.patches()
                for name in self._hidden:
                    delattr(self._tensor, name)

    def show(self) -> None:
        """Restore the program's patches."""
        with self._lock:
            self.depth -= 1
            if self.depth == 0:
                while self._hidden:
                    setattr(self._tensor, *self._hidden.popitem())


class _Unpatched:
    """Our own work while the program has patched methods of tensors."""

    def __init__(self, around: _OwnWork) -> None:
        self._around, self._disabled = around, private().unobserved()

    def __enter__(self) -> None:
        self._around.hide()
        self._disabled.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._disabled.__exit__(*error)
        self._around.show()


@functools.cache
def _of_process() -> _OwnWork:
    return _OwnWork()


def asked_by_nobody() -> Callable[[], bool]:
    """Return a function that checks whether ``own_work`` is needless for reading plain tensors."""
    return _of_process().is_needless


def unpatched() -> Callable[[], bool]:
    """Return a function that checks whether ``private().unobserved`` is enough in place of ``own_work``."""
    return _of_process().is_unpatched


def own_work() -> AbstractContextManager[Any]:
    """Return the context manager in which our code may use tensors of the program."""
    return _of_process().begin()


def is_patched() -> bool:
    """Whether the program currently replaces tensor methods or attributes, which this thread may have hidden."""
    return _of_process().depth > 0 or type(own_work()) is _Unpatched
