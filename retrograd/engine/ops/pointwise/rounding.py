"""Rounding, and ``nan_to_num``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import elementwise
from ...tensors.narrow import is_narrow, kind_of, limits, rounded, single
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
    if kind_of(self.dtype) not in "fc":
        return self.copy()
    nan = 0.0 if nan is None else nan
    if not is_narrow(self.dtype):
        return np.nan_to_num(self, nan=nan, posinf=posinf, neginf=neginf)
    most = float(limits(self.dtype).max)
    posinf, neginf = most if posinf is None else posinf, -most if neginf is None else neginf
    return rounded(np.nan_to_num(single(self), nan=nan, posinf=posinf, neginf=neginf), self.dtype)


elementwise(
    "nan_to_num", _nan_to_num, promote="", inplace=True, real_only="nan_to_num",
    self=lambda g, self: g * F.isfinite(self), as_given=True,
)  # fmt: skip
