"""Element-wise operators of two or three tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..table.registry import F
from ..table.rows import elementwise, nondifferentiable, underivable
from ..tensors.numbers_ import checked_number
from .arithmetic import conj, whole_divisor
from .selection import within

LOG2 = math.log(2)

# -- angles and lengths


def _atan2_slope(g: Any, part: Any, self: Any, other: Any) -> Any:
    size = self * self + other * other
    return g * part / F._where(size == 0, F.ones_like(size), size)


elementwise(
    "atan2", np.arctan2, promote="float", inplace=True, numbers=False,
    self=lambda g, self, other: _atan2_slope(g, other, self, other),
    other=lambda g, self, other: _atan2_slope(g, -self, self, other),
)  # fmt: skip
elementwise(
    "hypot", np.hypot, inplace=True, numbers=False,
    self=lambda g, self, result: g * (self / result), other=lambda g, other, result: g * (other / result),
    kinds="f",
)  # fmt: skip

# -- logarithms of sums, products with logarithms


def _logaddexp(self: Any, other: Any) -> Any:
    """``log(exp(self) + exp(other))`` without overflow."""
    if np.result_type(self, other).kind != "c":
        return np.logaddexp(self, other)
    first = self.real >= other.real
    high, low = np.where(first, self, other), np.where(first, other, self)
    return high + np.log1p(np.exp(low - high))


elementwise(
    "logaddexp", _logaddexp, numbers=False,
    self=lambda g, self, other: g / conj(F.exp(other - self) + 1),
    other=lambda g, self, other: g / conj(F.exp(self - other) + 1),
    kinds="fc",
)  # fmt: skip
elementwise(
    "logaddexp2", np.logaddexp2, numbers=False, node="Logaddexp2Backward0",
    self=lambda g, self, other: g / (F.exp2(other - self) + 1),
    other=lambda g, self, other: g / (F.exp2(self - other) + 1),
    kinds="fc",
)  # fmt: skip


def _log_times(name: str, log: Any) -> Any:
    def forward(self: Any, other: Any) -> Any:
        product = self * log(other)
        return np.where(np.isnan(other), other, np.where(self == 0, 0.0, product)).astype(product.dtype)

    forward.__doc__ = f"``self * {name}(other)``, 0 where ``self`` is 0."
    return forward


def _log_slope(row: str) -> Any:
    def rule(g: Any, self: Any, other: Any) -> Any:
        blank = (self == 0.0) & (other <= (0.0 if row == "log" else -1.0))
        return F._where(blank, F.zeros_like(g), g * getattr(F, row)(other))

    return rule


def _scalar_first(kernel: Any) -> Any:
    return lambda self, other: kernel(other.dtype.type(self), other)


def _scalar_last(kernel: Any) -> Any:
    return lambda self, other: kernel(self, self.dtype.type(other))


def _log_scalar_slope(row: str) -> Any:
    log = math.log if row == "log" else math.log1p

    def rule(g: Any, self: Any, other: Any) -> Any:
        edge = 0.0 if row == "log" else -1.0
        value = -math.inf if other == edge else math.nan if other < edge else log(other)
        return F._where(self == 0.0, F.zeros_like(g), g * value) if other <= edge else g * value

    return rule


for _name, _row, _kernel, _slope, _nodes in (
    ("xlogy", "log", _log_times("log", np.log), lambda g, self, other: g * self / other, "XlogyBackward"),
    ("xlog1py", "log1p", _log_times("log1p", np.log1p), lambda g, self, other: g * self / (other + 1),
     "SpecialXlog1PyBackward"),
):  # fmt: skip
    elementwise(
        f"_{_name}", _kernel, node=_nodes + "0", promote="float", self=_log_slope(_row), other=_slope,
        kinds="fiub",
    )  # fmt: skip
    elementwise(
        f"_{_name}_self_number", _scalar_first(_kernel), node=_nodes + "1", tensors="other", promote="float",
        other=_slope, kinds="fiub",
    )  # fmt: skip
    elementwise(
        f"_{_name}_other_number", _scalar_last(_kernel), node=_nodes + "2", tensors="self", promote="float",
        self=_log_scalar_slope(_row), kinds="fiub",
    )  # fmt: skip

# -- remainders: the sign of the dividend (fmod) or of the divisor (remainder)


def _fmod(self: Any, other: Any) -> Any:
    return np.fmod(self, whole_divisor(self, other))


def _remainder(self: Any, other: Any) -> Any:
    return np.remainder(self, whole_divisor(self, other))


elementwise(
    "_fmod_tensor", _fmod, node="FmodBackward1", promote="common",
    self=lambda g: g, other=lambda g, self, other: -g * F._div_rounded(self, other, "trunc"),
    kinds="fiu",
)  # fmt: skip
elementwise("_fmod_number", _fmod, node="FmodBackward0", tensors="self other", promote="common", self=lambda g: g)
elementwise(
    "remainder", _remainder, node="RemainderBackward1",
    self=lambda g: g, other=lambda g, self, other: -g * F._div_rounded(self, other, "floor"), inplace=True,
    kinds="fiu",
)  # fmt: skip
elementwise(
    "_remainder_number", _remainder, node="RemainderBackward0", tensors="self other", promote="common",
    self=lambda g: g,
)  # fmt: skip

# -- signs and powers of two


def _copysign(self: Any, other: Any) -> Any:
    """``|self|`` with the sign of ``other``."""
    return np.copysign(self, other)


def _copysign_grad(g: Any, self: Any, result: Any) -> Any:
    ratio = F._where(self == 0, F.zeros_like(self), result / F._where(self == 0, F.ones_like(self), self))
    return g * ratio


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
    "_frexp", _frexp, node="FrexpBackward0", outputs=2, nondiff=(1,), promote="",
    self=lambda g, result: g[0] / F.exp2(result[1]),
    jvp=lambda primal, tangents, results: (tangents[0] / F.exp2(results[1]), None),
)  # fmt: skip

# -- the larger and the smaller, NaN ignored

elementwise(
    "fmax", np.fmax, numbers=False,
    self=lambda g, self, other: F._kept(g, (self >= other) | F.isnan(other)),
    other=lambda g, self, other: F._kept(g, (self >= other) | F.isnan(other), False),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "fmin", np.fmin, numbers=False,
    self=lambda g, self, other: F._kept(g, (self <= other) | F.isnan(other)),
    other=lambda g, self, other: F._kept(g, (self <= other) | F.isnan(other), False),
    kinds="fiub",
)  # fmt: skip


def _inside(g: Any, keep: Any) -> Any:
    return F._where(keep, g, F.zeros_like(g))


elementwise("_clamp_min", lambda self, min: np.maximum(self, min), node="ClampMinBackward0", tensors="self min",
            scalars="min",
            promote="common", self=lambda g, self, min: _inside(g, self >= min), kinds="fiub")  # fmt: skip
elementwise("_clamp_max", lambda self, max: np.minimum(self, max), node="ClampMaxBackward0", tensors="self max",
            scalars="max", promote="common", self=lambda g, self, max: _inside(g, self <= max))  # fmt: skip
elementwise(
    "_clamp_min_tensor", lambda self, min: np.maximum(self, min), node="ClampMinBackward1", tensors="self min",
    self=lambda g, self, min: _inside(g, self >= min), min=lambda g, self, min: _inside(g, self < min),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "_clamp_max_tensor", lambda self, max: np.minimum(self, max), node="ClampMaxBackward1", tensors="self max",
    self=lambda g, self, max: _inside(g, self <= max), max=lambda g, self, max: _inside(g, self > max),
    kinds="fiub",
)  # fmt: skip


def _clamp_tensors(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    out = self if min is None else np.maximum(self, min)
    return np.array(out) if max is None else np.minimum(out, max)


def _clamp_low(g: Any, self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    return _inside(g, self < min if max is None else (min < max) & (self < min))


def _clamp_high(g: Any, self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    return _inside(g, self > max if min is None else (self > max) | (max < min))


elementwise(
    "_clamp_tensors", _clamp_tensors, node="ClampBackward0", tensors="self min max",
    self=lambda g, self, min, max: _inside(g, within(self, min, max)), min=_clamp_low, max=_clamp_high,
)  # fmt: skip

# -- three operands


def _lerp_fraction(self: Any, end: Any, weight: Any) -> Any:
    # the formula is changed in the middle, so that a weight of 1 gives exactly `end`
    return np.where(np.absolute(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))


def _lerp(self: Any, end: Any, weight: Any) -> Any:
    """``self + weight * (end - self)``."""
    if not isinstance(weight, np.ndarray):
        weight = checked_number(weight, self.dtype)
    return _lerp_fraction(self, end, weight).astype(self.dtype)


elementwise("_lerp_number", _lerp, node="LerpBackward0", tensors="self end", promote="",
            self=lambda g, weight: g * conj(1 - weight), end=lambda g, weight: g * conj(weight),
            kinds="fc")  # fmt: skip
elementwise(
    "_lerp_tensor", _lerp, node="LerpBackward1", tensors="self end weight", promote="",
    self=lambda g, weight: g * conj(1 - weight), end=lambda g, weight: g * conj(weight),
    weight=lambda g, self, end: g * conj(end - self), kinds="fc",
)  # fmt: skip


def _addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """``self + value * tensor1 * tensor2``."""
    return self + checked_number(value, self.dtype) * tensor1 * tensor2


def _addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """``self + value * tensor1 / tensor2``."""
    return self + checked_number(value, self.dtype) * (tensor1 / tensor2)


elementwise(
    "_addcmul", _addcmul, node="AddcmulBackward0", tensors="self tensor1 tensor2",
    self=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
    kinds="fciu",
)  # fmt: skip
elementwise(
    "_addcdiv", _addcdiv, node="AddcdivBackward0", tensors="self tensor1 tensor2",
    self=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj((value * tensor1 / tensor2) / tensor2),
)  # fmt: skip

# -- the next number

elementwise(
    "nextafter",
    np.nextafter,
    self=lambda g, self, other: F._kept(g, self == other, False),
    other=lambda g: F.zeros_like(g),
    inplace=True,
    numbers=False,
    kinds="f",
)

# -- without gradient


def _heaviside(self: Any, other: Any) -> Any:
    """0 below 0, 1 above 0, ``other`` (``values``) at 0."""
    one, zero = self.dtype.type(1), self.dtype.type(0)
    return np.where(self == 0, other, np.where(self > 0, one, zero)).astype(self.dtype)


underivable("_heaviside", _heaviside, tensors="self other", promote="common")
nondifferentiable("gcd", np.gcd, tensors="self other", promote="common", inplace=True, numbers=False)
nondifferentiable("lcm", np.lcm, tensors="self other", promote="common", inplace=True, numbers=False)
nondifferentiable("bitwise_left_shift", np.left_shift, tensors="self other", promote="common", inplace=True, kinds="iu")
nondifferentiable(
    "bitwise_right_shift", np.right_shift, tensors="self other", promote="common", inplace=True, kinds="iu"
)
