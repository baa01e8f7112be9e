"""The face of ``torch.special``: everything published in that namespace, and what torch repeats there."""

from __future__ import annotations

from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.public import NAMESPACES as _NAMESPACES

_REPEATED = ("softmax", "log_softmax", "logsumexp")

globals().update({name: _FUNCTIONS[name] for name in _REPEATED if name in _FUNCTIONS})
globals().update(_NAMESPACES["special"])
__all__ = sorted({*_NAMESPACES["special"], *(name for name in _REPEATED if name in _FUNCTIONS)})  # noqa: PLE0605
