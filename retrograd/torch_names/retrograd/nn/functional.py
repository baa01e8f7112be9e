"""``torch.nn.functional``: everything published in that namespace, and what torch repeats there."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS as _FUNCTIONS
from ..engine.overriding.wrappers import make_overridable as _make_overridable
from ..engine.table.public import NAMESPACES as _NAMESPACES
from ..engine.table.public import missing_name as _missing_name

_REPEATED = ("relu", "softmax", "log_softmax")

globals().update({name: _FUNCTIONS[name] for name in _REPEATED if name in _FUNCTIONS})
globals().update(_NAMESPACES["nn.functional"])
_make_overridable(globals(), "torch.nn.functional", [*_NAMESPACES["nn.functional"], *_REPEATED])


def __getattr__(name: str) -> Any:
    raise _missing_name(__name__, name, "nn.functional")
