"""Our weak references to the program's objects; ``sources/hidden_references`` hides them from the program."""

from __future__ import annotations

import weakref
from typing import Any


class Reference(weakref.ref[Any]):
    """A weak reference of a separate class, so that the program's own references are different objects."""

    __slots__ = ("number",)
    number: int
    """The number of the object in a table that keeps this reference."""
