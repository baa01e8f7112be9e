"""The order in which the classes of several tensors are asked to handle a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def asking_order(values: Iterable[Any], overrides: Callable[[Any], bool]) -> list[Any]:
    """One value of each class that ``overrides``, left to right, subclasses before the classes they come from."""
    found: list[Any] = []
    for value in values:
        if not overrides(value) or any(type(value) is type(other) for other in found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(type(value), type(other))), len(found))
        found.insert(place, value)
    return found
