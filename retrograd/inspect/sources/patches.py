"""Replaces functions temporarily, and restores exactly what was there."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ..program.frames import leave_no_frame

OURS: weakref.WeakSet[Any] = weakref.WeakSet()
"""The wrappers that replace functions, to distinguish them from the program's."""
_INHERITED: Any = object()


class Patches:
    """A set of replaced attributes.

    If somebody else replaced our replacement meanwhile, theirs stays; ours then only passes calls on, since ``undo``
    makes every wrapper transparent.
    """

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []
        self._active = True

    def wrap(self, holder: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute by the result of ``make``; a missing attribute is skipped."""

        def switched(original: Any) -> Any:
            replacement = make(original)

            def wrapper(*args: Any, **kwargs: Any) -> Any:
                try:
                    return (replacement if self._active else original)(*args, **kwargs)
                except BaseException as error:
                    leave_no_frame(error)
                    raise

            return wrapper

        self.wrap_directly(holder, name, switched)

    def wrap_directly(self, holder: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Do the same with a wrapper that itself checks when it must only pass calls on."""
        original = getattr(holder, name, None)
        if original is None:
            return
        wrapper = make(original)
        OURS.add(wrapper)
        wrapper.__name__ = wrapper.__qualname__ = name  # where the original has none
        functools.update_wrapper(wrapper, original)  # modes and classes of the program may be given it as a function
        had = vars(holder).get(name, _INHERITED)  # of a class: the staticmethod or classmethod itself
        setattr(holder, name, staticmethod(wrapper) if isinstance(had, staticmethod) else wrapper)
        self._done.append((holder, name, had, wrapper))

    def undo(self) -> None:
        """Restore all attributes."""
        self._active = False
        for holder, name, had, wrapper in reversed(self._done):
            if getattr(holder, name, None) is wrapper:
                delattr(holder, name) if had is _INHERITED else setattr(holder, name, had)
        self._done.clear()
