"""``torch.signal.windows``: everything published in that namespace."""

from __future__ import annotations

from typing import Any

from ..engine import methods  # noqa: F401  (fills the namespaces)
from ..engine.overriding.wrappers import make_overridable as _make_overridable
from ..engine.table.public import NAMESPACES as _NAMESPACES
from ..engine.table.public import missing_name as _missing_name

globals().update(_NAMESPACES["signal.windows"])
_make_overridable(globals(), "torch.signal.windows", [*_NAMESPACES["signal.windows"]])


def __getattr__(name: str) -> Any:
    raise _missing_name(__name__, name, "signal.windows")


__all__ = sorted(_NAMESPACES["signal.windows"])  # noqa: PLE0605
