"""Powers, exponentials and logarithms."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.argument_checks import checked_number, held
from ...core.dtypes import numpy_dtype_of
from ...core.registry import F
from ...kernels.halves import is_half
from ...rules.by_number import cubed, minus, number_minus, plus, times
from ...table.rows import elementwise
from .arithmetic import conj, element, reciprocal

# -- powers


def _pow_scalar(self: Any, exponent: Any) -> Any:
    """``self ** exponent`` for a number."""
    if exponent == 2:
        return self * self
    if self.dtype.kind in "biu":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if self.dtype.kind == "b":
            return self | (not exponent)
        return np.power(self, element(exponent, self.dtype))
    if is_half(self):
        return np.power(self, checked_number(exponent, self.dtype))
    if self.dtype.kind == "f":
        # as PyTorch does, to the last place; products also take a seventh of the time
        if exponent == 3:
            return self * self * self
        if exponent == -2:
            return np.reciprocal(self * self)
        if exponent == -0.5:
            return reciprocal(np.sqrt(self))  # which distinguishes -0 and -inf from other roots
    if self.dtype.kind == "c" and exponent in _OF_COMPLEX:
        return _OF_COMPLEX[exponent](self)
    return np.power(self, exponent)


_OF_COMPLEX: dict[Any, Callable[[Any], Any]] = {
    0.5: np.sqrt, -1: reciprocal, -2: lambda x: reciprocal(np.square(x)), -0.5: lambda x: reciprocal(np.sqrt(x)),
}  # fmt: skip


def _pow_scalar_in_steps(step: Callable[[Any], Any], self: Any, exponent: Any) -> Any:
    """A power of bfloat16 numbers given in single precision: each product is rounded (``step``), as PyTorch's are."""
    if exponent == 3:
        return step(self * self) * self
    return np.reciprocal(step(self * self)) if exponent == -2 else _pow_scalar(self, exponent)


def integer_power(self: Any, exponent: Any) -> Any:
    """Powers of integers; those with a negative exponent are cut off to 0, 1 or -1."""
    if self.dtype.kind != "i" or not (np.asarray(exponent) < 0).any():
        return np.power(self, exponent)
    sign = np.where(np.asarray(exponent) % 2, self, np.ones_like(self))
    cut = np.where(np.abs(self) == 1, sign, np.zeros_like(self))
    return np.where(exponent < 0, cut, np.power(self, np.maximum(exponent, 0)))


_WITH_WAYS = (4, -1, 0.5)
"""Exponents whose slopes have powers 3, -2 and -0.5."""


def _pow_self(g: Any, self: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float)) and exponent == 0:
        return F.zeros_like(g)
    # the row, unlike the operator on arrays, has ways of its own for some powers
    less = F._pow_scalar(self, exponent - 1) if exponent in _WITH_WAYS else self ** (exponent - 1)
    return g * conj(times(less, exponent))


def _pow_tensor_self(g: Any, self: Any, exponent: Any) -> Any:
    return F._where(exponent == 0.0, F.zeros_like(g), g * conj(exponent * self ** minus(exponent, 1)))


def _pow_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    # 0 ** e has no usable log; its derivative is 0 for e >= 0
    flat = (self == 0) & (F.real(exponent) >= 0)
    log = F.log(F._where(flat, F.ones_like(self), self))
    slope = F._where(flat, F.zeros_like(result), result * log)
    return g * conj(slope)


_pow_scalar.rounds, _pow_scalar.in_steps = 2, _pow_scalar_in_steps  # type: ignore[attr-defined]
elementwise("_pow_scalar", _pow_scalar, node="PowBackward0", tensors="self", self=_pow_self)
elementwise(
    "_pow_tensor", integer_power, node="PowBackward1",
    self=_pow_tensor_self, exponent=_pow_exponent,
    kinds="fciu",
)  # fmt: skip


def _base_pow(self: Any, exponent: Any) -> Any:
    return integer_power(np.asarray(element(self, exponent.dtype)), exponent)


def _pow_base_slope(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    if isinstance(self, complex) or numpy_dtype_of(result).kind == "c":
        return g * conj(result * (cmath.log(self) if self else 0))
    if self == 0:
        return g * F._where(F.real(exponent) >= 0, F.zeros_like(result), conj(result) * -math.inf)
    return g * conj(times(result, math.log(self) if self > 0 else math.nan))


_base_pow.rounds = 2  # type: ignore[attr-defined]
elementwise("_pow_base", _base_pow, node="PowBackward2", tensors="exponent", exponent=_pow_base_slope)
elementwise("sqrt", np.sqrt, promote="float", self=lambda g, result: g / times(conj(result), 2), inplace=True)
elementwise(
    "rsqrt", lambda self: reciprocal(np.sqrt(self)), promote="float",
    self=lambda g, result: times(g, -0.5) * conj(cubed(result)), inplace=True,
)  # fmt: skip

# -- exponentials and logarithms

elementwise("exp", np.exp, promote="float", self=lambda g, result: g * conj(result), inplace=True)
elementwise("exp2", np.exp2, promote="float", self=lambda g, result: times(g * conj(result), math.log(2)), inplace=True)
elementwise("expm1", np.expm1, promote="float", self=lambda g, result: g * conj(plus(result, 1)), inplace=True)
elementwise("log", np.log, promote="float", self=lambda g, self: g / conj(self), inplace=True)
elementwise("log2", np.log2, promote="float", self=lambda g, self: g / times(conj(self), math.log(2)), inplace=True)
elementwise("log10", np.log10, promote="float", self=lambda g, self: g / times(conj(self), math.log(10)), inplace=True)
elementwise(
    "log1p",
    np.log1p,
    node="Log1PBackward0",
    promote="float",
    self=lambda g, self: g / conj(plus(self, 1)),
    inplace=True,
)


def _logit(self: Any, eps: float | None = None) -> Any:
    """``log(p / (1 - p))``; with ``eps``, ``p`` is first limited to ``[eps, 1 - eps]``."""
    if eps is not None:
        low, high = held(eps, self.dtype), self.dtype.type(1 - eps)
        self = np.where(self < low, low, np.where(self > high, high, self))
    return np.log(self / (1 - self))


def _logit_grad(g: Any, self: Any, eps: float | None) -> Any:
    slope = g / (self * number_minus(1, self))
    if eps is None or eps < 0:
        return F._where((self >= 0) & (self <= 1), slope, math.nan * F.ones_like(g))
    return F._where((self < eps) | (self > 1 - eps), F.zeros_like(g), slope)


elementwise("logit", _logit, promote="float", tensors="self", self=_logit_grad, inplace=True, kinds="fiub")


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
    self=lambda g, self, other: g / conj(plus(F.exp(other - self), 1)),
    other=lambda g, self, other: g / conj(plus(F.exp(self - other), 1)),
    kinds="fc",
)  # fmt: skip
elementwise(
    "logaddexp2", np.logaddexp2, numbers=False, node="Logaddexp2Backward0",
    self=lambda g, self, other: g / plus(F.exp2(other - self), 1),
    other=lambda g, self, other: g / plus(F.exp2(self - other), 1),
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
        blank = (self == 0.0) & (other <= (0.0 if row == "_xlogy" else -1.0))
        return F.masked_fill(getattr(F, row)(g, other), blank, 0)

    return rule


def _scalar_first(kernel: Any) -> Any:
    def forward(self: Any, other: Any) -> Any:
        return kernel(other.dtype.type(self), other)

    forward.rounds = 2  # type: ignore[attr-defined]
    return forward


def _scalar_last(kernel: Any) -> Any:
    def forward(self: Any, other: Any) -> Any:
        return kernel(self, self.dtype.type(other))

    forward.rounds = 2  # type: ignore[attr-defined]
    return forward


def _log_scalar_slope(row: str) -> Any:
    log = math.log if row == "log" else math.log1p

    def rule(g: Any, self: Any, other: Any) -> Any:
        edge = 0.0 if row == "log" else -1.0
        value = -math.inf if other == edge else math.nan if other < edge else log(other)
        return F._where(self == 0.0, F.zeros_like(g), g * value) if other <= edge else g * value

    return rule


for _name, _row, _kernel, _slope, _nodes in (
    ("xlogy", "log", _log_times("log", np.log), lambda g, self, other: g * self / other, "XlogyBackward"),
    ("xlog1py", "log1p", _log_times("log1p", np.log1p), lambda g, self, other: g * self / plus(other, 1),
     "SpecialXlog1PyBackward"),
):  # fmt: skip
    elementwise(
        f"_{_name}", _kernel, node=_nodes + "0", promote="float", self=_log_slope(f"_{_name}"), other=_slope,
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
