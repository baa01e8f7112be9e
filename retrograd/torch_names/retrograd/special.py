"""``torch.special``: everything published in that namespace, and what torch repeats there."""

from __future__ import annotations

from typing import Any

from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.overriding.wrappers import make_overridable as _make_overridable
from .engine.table.public import NAMESPACES as _NAMESPACES
from .engine.table.public import missing_name as _missing_name

_REPEATED = ("logsumexp",)

globals().update({name: _FUNCTIONS[name] for name in _REPEATED if name in _FUNCTIONS})
globals().update(_NAMESPACES["special"])
_make_overridable(globals(), "torch.special", [*_NAMESPACES["special"], *_REPEATED])


def __getattr__(name: str) -> Any:
    raise _missing_name(__name__, name, "special")


__all__ = sorted({*_NAMESPACES["special"], *(name for name in _REPEATED if name in _FUNCTIONS)})  # noqa: PLE0605
