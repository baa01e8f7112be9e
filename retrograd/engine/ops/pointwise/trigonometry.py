"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.halves import rounded_once
from ...rules.by_number import minus, number_minus, plus, squared, times
from ...table.rows import elementwise
from .arithmetic import conj
from .parts import is_complex

elementwise("sin", np.sin, promote="float", self=lambda g, self: g * conj(F.cos(self)), inplace=True)
elementwise("cos", np.cos, promote="float", self=lambda g, self: g * -conj(F.sin(self)), inplace=True)
elementwise("tan", np.tan, promote="float", self=lambda g, result: g * conj(plus(squared(result), 1)), inplace=True)
elementwise("tanh", np.tanh, promote="float", self=lambda g, result: F._tanh_backward(g, conj(result)), inplace=True)
elementwise(
    "_tanh_backward", rounded_once(operands=2)(lambda grad_output, output: grad_output * (1 - output * output)),
    node="TanhBackwardBackward0",
    grad_output=lambda g, output: F._tanh_backward(g, conj(output)),
    output=lambda g, grad_output, output: g * conj(grad_output * -2 * output),
)  # fmt: skip
elementwise(
    "asin", np.arcsin, promote="float", self=lambda g, self: g * conj(F.rsqrt(plus(-self * self, 1))), inplace=True
)
elementwise(
    "acos", np.arccos, promote="float", self=lambda g, self: g * -conj(F.rsqrt(plus(-self * self, 1))), inplace=True
)
elementwise("atan", np.arctan, promote="float", self=lambda g, self: g / conj(plus(self * self, 1)), inplace=True)
elementwise("sinh", np.sinh, promote="float", self=lambda g, self: g * conj(F.cosh(self)), inplace=True)
elementwise("cosh", np.cosh, promote="float", self=lambda g, self: g * conj(F.sinh(self)), inplace=True)
elementwise(
    "asinh",
    np.arcsinh,
    promote="float",
    self=lambda g, self: g * conj(F.rsqrt(plus(squared(self), 1))),
    in_place_node="AsinhBackward1",
    inplace=True,
)
elementwise(
    "acosh", np.arccosh, promote="float", in_place_node="AcoshBackward1", inplace=True,
    self=lambda g, self: g * conj(F.rsqrt(minus(self, 1)) * F.rsqrt(plus(self, 1))) if is_complex(self)
    else g * F.rsqrt(minus(self * self, 1)),
)  # fmt: skip
elementwise(
    "atanh",
    np.arctanh,
    promote="float",
    self=lambda g, self: g / conj(number_minus(1, squared(self))),
    in_place_node="AtanhBackward1",
    inplace=True,
)


@rounded_once()
def _sinc(self: Any) -> Any:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    angle = self * self.dtype.type(math.pi)
    return np.where(self == 0, self.dtype.type(1), np.sin(angle) / np.where(self == 0, 1, angle)).astype(self.dtype)


def _sinc_grad(g: Any, self: Any) -> Any:
    angle = times(self, math.pi)
    slope = (angle * F.cos(angle) - F.sin(angle)) / (angle * self)
    return F._where(self == 0, F.zeros_like(g), g * conj(slope))


elementwise("sinc", _sinc, promote="float", self=_sinc_grad, inplace=True)
elementwise(
    "deg2rad", lambda self: self * self.dtype.type(math.pi / 180), node="Deg2RadBackward0", promote="float",
    self=lambda g: F.deg2rad(g), inplace=True,
    kinds="fiub",
)  # fmt: skip
elementwise(
    "rad2deg", lambda self: self * self.dtype.type(180 / math.pi), node="Rad2DegBackward0", promote="float",
    self=lambda g: F.rad2deg(g), inplace=True,
    kinds="fiub",
)  # fmt: skip


# -- angles and lengths


def _atan2_slope(g: Any, part: Any, self: Any, other: Any) -> Any:
    size = self * self + other * other
    return g * F.masked_fill(part / size, size == 0, 0.0)


def _atan2_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    """NaN at the origin, where a gradient is 0."""
    self, other = primal[:2]
    size = self * self + other * other
    shares = [tangents[i] * part / size for i, part in ((0, other), (1, -self)) if i in tangents]
    return shares[0] if len(shares) == 1 else shares[0] + shares[1]


elementwise(
    "atan2", np.arctan2, promote="float", inplace=True, numbers=False,
    self=lambda g, self, other: _atan2_slope(g, other, self, other),
    other=lambda g, self, other: _atan2_slope(g, -self, self, other), jvp=_atan2_tangent,
)  # fmt: skip
elementwise(
    "hypot", np.hypot, inplace=True, numbers=False,
    self=lambda g, self, result: g * self / result, other=lambda g, other, result: g * other / result,
    kinds="f",
)  # fmt: skip
