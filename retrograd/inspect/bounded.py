"""A cache of bounded size, for values that can be computed again."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(dict[K, V]):
    """Forgets everything when it is full: a long-running program may keep making new code objects and shapes.

    Only assignment by key looks at the limit, so that looking up costs no more than in any dictionary.
    """

    __slots__ = ("_limit",)

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._limit:
            self.clear()
        super().__setitem__(key, value)
