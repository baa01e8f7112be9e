"""Weak references of ours to objects of the program; ``sources/hidden_references`` keeps them from its sight."""

from __future__ import annotations

import weakref
from typing import Any


class Reference(weakref.ref[Any]):
    """One of ours; of another class, so that the program's own are other objects than these."""

    __slots__ = ()
