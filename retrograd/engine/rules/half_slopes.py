"""Derivatives in half precision as PyTorch's kernels compute them: in single precision, rounded once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.registry import F
from ..kernels.halves import is_half
from ..table.facts import Rule

_HALF, _WIDE = np.dtype(np.float16), np.dtype(np.float32)


def _of_halves(x: Any) -> bool:
    return x._sig.numpy == _HALF if isinstance(x, TensorBase) else is_half(x)


def slope_rounded_once(rule: Rule) -> Rule:
    """Let a rule compute halves in single precision; where it is recorded, so are the conversions."""

    @functools.wraps(rule)
    def call(g: Any, *values: Any) -> Any:
        if not _of_halves(g):
            return rule(g, *values)
        wide = [F._to_copy(value, _WIDE) if _of_halves(value) else value for value in (g, *values)]
        return F._to_copy(rule(*wide), _HALF)

    return call
