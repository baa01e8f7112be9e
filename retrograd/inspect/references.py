"""Our weak references to the program's objects; ``sources/hidden_references`` hides them from the program."""

from __future__ import annotations

import weakref
from typing import Any


class Reference(weakref.ref[Any]):
    """One of ours; of another class, so that the program's own are other objects than these."""

    __slots__ = ()
