"""Hides our weak references from programs that list them.

``torch.utils.swap_tensors``, for one, refuses tensors that have weak references.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...locks import lock
from ..references import Reference
from .patches import Patches


class _Hiding:
    """What is replaced while anything is recorded."""

    def __init__(self) -> None:
        self.lock, self.count, self.patches = lock(), 0, Patches()


_HIDING = _Hiding()


def _wrap_list(original: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    def getweakrefs(thing: Any) -> list[Any]:
        return [reference for reference in original(thing) if type(reference) is not Reference]

    return getweakrefs


def _wrap_count(original: Callable[[Any], int]) -> Callable[[Any], int]:
    def getweakrefcount(thing: Any) -> int:
        return len(weakref.getweakrefs(thing)) if original(thing) else 0

    return getweakrefcount


@contextmanager
def references_hidden() -> Iterator[None]:
    """Let ``weakref`` report only the program's own references until the block ends."""
    with _HIDING.lock:
        _HIDING.count += 1
        if _HIDING.count == 1:
            _HIDING.patches.wrap(weakref, "getweakrefs", _wrap_list)
            _HIDING.patches.wrap(weakref, "getweakrefcount", _wrap_count)
    try:
        yield
    finally:
        with _HIDING.lock:
            _HIDING.count -= 1
            if not _HIDING.count:
                _HIDING.patches.undo()
                _HIDING.patches = Patches()
