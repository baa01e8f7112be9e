"""The face of ``torch.linalg``: everything published in that namespace, and what torch repeats there."""

from __future__ import annotations

from typing import Any

import numpy as np

from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.public import NAMESPACES as _NAMESPACES

LinAlgError = np.linalg.LinAlgError
_REPEATED = ("matmul",)

globals().update({name: _FUNCTIONS[name] for name in _REPEATED if name in _FUNCTIONS})
globals().update(_NAMESPACES["linalg"])


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'retrograd.linalg' has no attribute '{name}'")
