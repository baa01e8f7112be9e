"""Rounding, and numbers in place of what is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import elementwise
from .arithmetic import zero_gradient

for _name, _round in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    elementwise(_name, _round, self=zero_gradient, inplace=True, kinds="fiu")
elementwise("frac", lambda self: self - np.trunc(self), self=lambda g: g, inplace=True, kinds="f")


def _round_decimals(self: Any, decimals: int) -> Any:
    if self.dtype.kind in "iu":
        return self
    scale = self.dtype.type(10.0 ** abs(decimals))
    return np.rint(self * scale) / scale if decimals > 0 else np.rint(self / scale) * scale


elementwise(
    "_round", lambda self: np.rint(self).astype(self.dtype), node="RoundBackward0", self=zero_gradient, kinds="fiu"
)
elementwise("_round_decimals", _round_decimals, node="RoundBackward1", tensors="self", self=zero_gradient, kinds="f")


def _nan_to_num(self: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """``nan``, ``posinf`` and ``neginf`` in place of what is not finite (default: 0 and the largest numbers)."""
    if self.dtype.kind not in "fc":
        return self.copy()
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


elementwise(
    "nan_to_num", _nan_to_num, promote="", inplace=True, real_only="nan_to_num",
    self=lambda g, self: g * F.isfinite(self),
)  # fmt: skip
