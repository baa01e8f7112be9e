"""``torch.linalg``: everything published in that namespace."""

from __future__ import annotations

from typing import Any

from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.overriding.wrappers import make_overridable as _make_overridable
from .engine.rules.matrix_checks import LinAlgError
from .engine.table.public import NAMESPACES as _NAMESPACES
from .engine.table.public import missing_name as _missing_name

assert _FUNCTIONS
globals().update(_NAMESPACES["linalg"])
_make_overridable(globals(), "torch.linalg", [*_NAMESPACES["linalg"]])


def __getattr__(name: str) -> Any:
    raise _missing_name(__name__, name, "linalg")


__all__ = ["LinAlgError"]
