"""``torch.fft``: everything published in that namespace."""

from __future__ import annotations

from typing import Any

from .engine import methods  # noqa: F401  (fills the namespaces)
from .engine.overriding.wrappers import make_overridable as _make_overridable
from .engine.table.public import NAMESPACES as _NAMESPACES
from .engine.table.public import missing_name as _missing_name

globals().update(_NAMESPACES["fft"])
_make_overridable(globals(), "torch.fft", [*_NAMESPACES["fft"]])


def __getattr__(name: str) -> Any:
    raise _missing_name(__name__, name, "fft")


__all__ = sorted(_NAMESPACES["fft"])  # noqa: PLE0605
