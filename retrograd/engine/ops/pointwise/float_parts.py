"""Signs and exponents of floating-point numbers, and their neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import elementwise
from .arithmetic import conj

LOG2 = math.log(2)


def _copysign(self: Any, other: Any) -> Any:
    """``|self|`` with the sign of ``other``."""
    return np.copysign(self, other)


def _copysign_grad(g: Any, self: Any, result: Any) -> Any:
    return g * F._kept(result / self, self == 0, False)


elementwise("_copysign_tensor", _copysign, node="CopysignBackward0", promote="float", self=_copysign_grad,
            other=lambda g: F.zeros_like(g))  # fmt: skip
elementwise("_copysign_number", _copysign, node="CopysignBackward1", tensors="self other", promote="float",
            self=_copysign_grad)  # fmt: skip


def _ldexp(self: Any, other: Any) -> Any:
    """``self * 2 ** other``."""
    return self * np.exp2(other.astype(np.result_type(self, np.float16)))


elementwise(
    "ldexp", _ldexp, tensors="self other", promote="float", inplace=True, numbers=False,
    self=lambda g, other: g * conj(F.exp2(other)), other=lambda g, result: g * conj(result) * LOG2,
)  # fmt: skip


def _frexp(self: Any) -> Any:
    mantissa, exponent = np.frexp(self)
    return mantissa, exponent.astype(np.int32)


elementwise(
    "_frexp", _frexp, node="FrexpBackward0", results="mantissa exponent", nondiff=(1,), promote="",
    self=lambda g, exponent: g[0] / F.exp2(exponent),
    jvp=lambda primal, tangents, results: (tangents[0] / F.exp2(results[1]), None),
)  # fmt: skip
elementwise(
    "nextafter",
    np.nextafter,
    self=lambda g, self, other: F._kept(g, self == other, False),
    other=lambda g: F.zeros_like(g),
    inplace=True,
    numbers=False,
    kinds="f",
    as_given=True,
)
