"""Numbers of modules and optimizers, by which events tell them apart: of identity, and of one object each."""

from __future__ import annotations

import gc
import weakref

from retrograd.inspect.sources.object_numbers import ObjectNumbers


class Same:
    """All of these compare equal, as modules may that define equality."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_numbers_go_by_identity_and_never_come_back():
    """Equal objects have numbers of their own; those of objects that are gone are given to nobody."""
    numbers = ObjectNumbers()
    first, second = Same(), Same()
    assert (numbers.find(first), numbers.of(first), numbers.of(second), numbers.find(first)) == (None, 0, 1, 0)

    gone = weakref.ref(second)
    del second
    gc.collect()
    assert gone() is None
    assert [numbers.of(Same()) for _ in range(3)] == [2, 3, 4]
    assert (numbers.of(first), len(numbers._known)) == (0, 1)
