"""The face of ``torch.nn.functional``: everything published in that namespace, and what torch repeats there."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS as _FUNCTIONS
from ..engine.public import NAMESPACES as _NAMESPACES

_REPEATED = ("relu", "sigmoid", "tanh", "softmax", "log_softmax")

globals().update({name: _FUNCTIONS[name] for name in _REPEATED if name in _FUNCTIONS})
globals().update(_NAMESPACES["nn.functional"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'retrograd.nn.functional' has no attribute '{name}'")
