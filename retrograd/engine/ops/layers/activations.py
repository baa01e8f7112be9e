"""Activations of neural networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.argument_checks import checked_number, held, real_number
from ...core.base import TensorBase
from ...core.dtypes import scalar_name
from ...core.narrow import limits
from ...core.registry import F
from ...kernels import error_function
from ...kernels.halves import rounded_once
from ...kernels.in_pieces import computed_in_pieces
from ...kernels.masking import kept, positive
from ...rules.backward_operators import backward_operator
from ...rules.by_number import number_minus, plus
from ...rules.half_slopes import slope_rounded_once
from ...table.rows import elementwise, function
from ..pointwise.arithmetic import conj, zero_gradient
from ..reductions.reduce import axes_of

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
GELU_CUBE = 0.044715


# -- sigmoid and ReLU


@rounded_once()
def _sigmoid(self: Any) -> Any:
    """``1 / (1 + exp(-x))``; right to the last digits also where it is small, unlike its form with tanh."""
    return np.reciprocal(np.exp(-self) + self.dtype.type(1))


elementwise(
    "sigmoid", _sigmoid, promote="float", self=lambda g, result: F._sigmoid_backward(g, conj(result)), inplace=True
)
elementwise(
    "_sigmoid_backward", lambda grad_output, output: grad_output * (output * (1 - output)),
    node="SigmoidBackwardBackward0",
    grad_output=lambda g, output: F._sigmoid_backward(g, conj(output)),
    output=lambda g, grad_output, output: g * conj(grad_output * (1 - 2 * output)),
)  # fmt: skip


def _relu_grad(g: Any, result: Any) -> Any:
    if isinstance(g, TensorBase):
        return F._threshold_backward(g, result, 0)
    return kept(g, result != 0)  # it is positive, 0 or NaN: a mask that need not be turned round (31 for 51 µs)


elementwise("relu", lambda self: positive(self), inplace=True, self=_relu_grad, kinds="fiu")
elementwise(
    "_threshold_backward", lambda grad_output, self, threshold: kept(grad_output, self <= threshold, False),
    node="ThresholdBackwardBackward0", tensors="grad_output self", promote="",
    grad_output=lambda g, self, threshold: F._threshold_backward(g, self, threshold), self=zero_gradient,
)  # fmt: skip


# -- piecewise linear: what they pass back depends on the operand, too, with derivative 0

_NEGATIVE_SLOPE = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. This is caused by "
    "calling in-place forward function with a negative slope, please call out-of-place version instead."
)


def _leaky_slope_by_result(g: Any, result: Any, negative_slope: float) -> Any:
    if negative_slope < 0:  # the sign of the result is not that of the overwritten value
        raise RuntimeError(_NEGATIVE_SLOPE.format("leakyReLu"))
    return F._leaky_relu_backward(g, result, negative_slope)


@rounded_once()
def _leaky_relu(self: Any, negative_slope: float = 0.01) -> Any:
    return np.where(self > 0, self, self * held(negative_slope, self.dtype))


elementwise(
    "leaky_relu", _leaky_relu,
    tensors="self", public=False, in_place_node="LeakyReluBackward1",
    self=lambda g, self, negative_slope: F._leaky_relu_backward(g, self, negative_slope),
    in_place_rules={"self": _leaky_slope_by_result},
    kinds="f",
)  # fmt: skip
elementwise(
    "_leaky_relu_backward",
    lambda grad_output, self, negative_slope: np.where(self > 0, grad_output, grad_output * negative_slope),
    node="LeakyReluBackwardBackward0", tensors="grad_output self", promote="",
    grad_output=lambda g, self, negative_slope: F._leaky_relu_backward(g, self, negative_slope), self=zero_gradient,
)  # fmt: skip


def _prelu_backward(grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any]:
    """The gradients of ``self`` and of ``weight``, the latter not yet summed."""
    above = self > 0
    return (
        np.where(above, grad_output, grad_output * weight),
        np.where(above, self.dtype.type(0), grad_output * self),
    )


def _prelu_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    self, weight = primal
    below = _tangent(tangents, 0, self) * weight + _tangent(tangents, 1, weight) * self
    return F._where(self >= 0, _tangent(tangents, 0, self), below)


def _prelu_second_order(
    grads: Any, needs: tuple[bool, ...], grad_output: Any, self: Any, weight: Any
) -> tuple[Any, ...]:  # fmt: skip
    slope, share = grads
    nothing = F.zeros_like(grad_output)
    return (
        F._where(self >= 0, slope, slope * weight + share * self) if needs[0] else None,
        F._where(self >= 0, nothing, grad_output * share) if needs[1] else None,
        F._where(self >= 0, nothing, grad_output * slope) if needs[2] else None,
    )


def _prelu_backward_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    grad_output, self, weight = primal
    g, x, w = [_tangent(tangents, i, primal[i]) for i in range(3)]
    return (
        F._where(self >= 0, g, g * weight + grad_output * w),
        F._where(self >= 0, F.zeros_like(g), grad_output * x + g * self),
    )


def _tangent(tangents: Any, place: int, like: Any) -> Any:
    return tangents[place] if place in tangents else F.zeros_like(like)


# PyTorch counts 0 to the lower side in the value and its gradient, to the upper side in the derivatives of both.
elementwise(
    "_prelu_kernel", lambda self, weight: np.where(self > 0, self, self * weight), tensors="self weight", promote="",
    joint=lambda g, needs, self, weight: F._prelu_backward(g, self, weight), jvp=_prelu_jvp,
    kinds="f",
)  # fmt: skip
elementwise(
    "_prelu_backward", _prelu_backward, node="PreluKernelBackwardBackward0", tensors="grad_output self weight",
    outputs=2, promote="", joint=_prelu_second_order, jvp=_prelu_backward_jvp,
)  # fmt: skip


def _rrelu(self: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    """Below 0 times ``noise``, which was drawn between ``lower`` and ``upper``, or times their mean."""
    if not training:
        return _leaky_relu(self, (lower + upper) / 2)
    return np.where(self > 0, self, self * noise).astype(self.dtype)


def _rrelu_slope_by_result(g: Any, result: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    if not training and lower + upper < 0:
        raise RuntimeError(_NEGATIVE_SLOPE.format("leakyReLu"))
    return F._rrelu_backward(g, result, noise)


elementwise(
    "_rrelu", _rrelu, tensors="self noise", promote="", layout="rows",
    node="RreluWithNoiseBackward0", in_place_node="RreluWithNoiseBackward1",
    self=lambda g, self, noise: F._rrelu_backward(g, self, noise),
    in_place_rules={"self": _rrelu_slope_by_result},
    keeps="lower upper training", kinds="f",
)  # fmt: skip
elementwise(
    "_rrelu_backward", lambda grad_output, self, noise: np.where(self > 0, grad_output, grad_output * noise),
    node="RreluWithNoiseBackwardBackward0", tensors="grad_output self noise", promote="",
    grad_output=lambda g, self, noise: F._rrelu_backward(g, self, noise), self=zero_gradient,
)  # fmt: skip


def _threshold(self: Any, threshold: float, value: float) -> Any:
    """``self`` where it is above ``threshold``, ``value`` elsewhere."""
    threshold = real_number(threshold)
    bound = threshold if self.dtype.kind == "f" else int(threshold)
    value = checked_number(value, self.dtype)
    return np.where(self <= bound, self.dtype.type(value), self)


elementwise("threshold", _threshold, tensors="self", inplace=True, public=False, in_place_node="ThresholdBackward1",
            self=lambda g, self, threshold: F._threshold_backward(g, self, threshold), kinds="fiu")  # fmt: skip


def _hardtanh(self: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    if self.dtype.kind == "u" and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, but they are {min_val} and {max_val}")
    return np.minimum(np.maximum(self, held(min_val, self.dtype)), held(max_val, self.dtype))


elementwise(
    "hardtanh", _hardtanh, tensors="self", public=False,
    self=lambda g, self, min_val, max_val: F._hardtanh_backward(g, self, min_val, max_val), kinds="fiu",
)  # fmt: skip
elementwise(
    "_hardtanh_backward",
    lambda grad_output, self, min_val, max_val: kept(grad_output, (self <= min_val) | (self >= max_val), False),
    node="HardtanhBackwardBackward0", tensors="grad_output self", promote="",
    grad_output=lambda g, self, min_val, max_val: F._hardtanh_backward(g, self, min_val, max_val), self=zero_gradient,
)  # fmt: skip


def _hardsigmoid(self: Any) -> Any:
    return (np.minimum(np.maximum(self + 3, 0), 6) / 6).astype(self.dtype)


@slope_rounded_once
def _hardswish_slope(g: Any, self: Any) -> Any:
    middle = F._where(F.abs(self) < 3, self, F.zeros_like(self))  # an infinity would spoil the second gradient
    return F._where(self <= -3, F.zeros_like(g), F._where(self < 3, g * (middle / 3 + 0.5), g))


elementwise("hardsigmoid", _hardsigmoid, promote="", public=False,
            self=lambda g, self: F._kept(g / 6, (self > -3) & (self < 3)), kinds="f")  # fmt: skip
elementwise("hardswish", rounded_once()(lambda self: self * _hardsigmoid(self)), public=False,
            self=backward_operator("hardswish", _hardswish_slope),
            kinds="f")  # fmt: skip


def _softshrink(self: Any, lambd: float = 0.5) -> Any:
    most = float(limits(self.dtype).max)
    if not 0 <= real_number(lambd) <= most:
        have = f"[0, {most:g}] for input dtype {scalar_name(self.dtype)}"
        raise RuntimeError(f"lambda must be in range {have}, but found {lambd:g}")
    return _shrunk(self, lambd)


@rounded_once()
def _shrunk(self: Any, lambd: float) -> Any:
    size = self.dtype.type(lambd)
    return np.where(self > size, self - size, np.where(self < -size, self + size, self * 0)).astype(self.dtype)


def _hardshrink(self: Any, lambd: float = 0.5) -> Any:
    """``self`` where it is outside of ``[-lambd, lambd]``, 0 inside."""
    lambd = real_number(lambd)
    inside = (self >= -lambd) & (self <= lambd)
    checked_number(lambd, self.dtype)
    return np.where(inside, self.dtype.type(0), self)


def _shrink_backward(grad_output: Any, self: Any, lambd: float) -> Any:
    return kept(grad_output, (self >= -lambd) & (self <= lambd), False)


elementwise("softshrink", _softshrink, tensors="self", public=False,
            self=lambda g, self, lambd: F._softshrink_backward(g, self, lambd), kinds="f")  # fmt: skip
elementwise("_softshrink_backward", _shrink_backward, node="SoftshrinkBackwardBackward0", promote="",
            tensors="grad_output self", self=zero_gradient,
            grad_output=lambda g, self, lambd: F._softshrink_backward(g, self, lambd))  # fmt: skip
elementwise("hardshrink", _hardshrink, tensors="self",
            self=lambda g, self, lambd: F._hardshrink_backward(g, self, lambd), kinds="f")  # fmt: skip
elementwise("_hardshrink_backward", _shrink_backward, node="HardshrinkBackwardBackward0", promote="",
            tensors="grad_output self", self=zero_gradient,
            grad_output=lambda g, self, lambd: F._hardshrink_backward(g, self, lambd))  # fmt: skip

# -- exponential


@rounded_once()
def _elu(self: Any, alpha: float = 1.0, scale: float = 1, input_scale: float = 1) -> Any:
    low = np.expm1(np.minimum(self, 0) * real_number(input_scale)) * checked_number(alpha * scale, self.dtype)
    return np.where(self > 0, self * real_number(scale), low).astype(self.dtype)


@slope_rounded_once
def _elu_slope(g: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    low = F._where(self < 0, self, F.zeros_like(self))  # at 0 the second derivative is 0, as in PyTorch
    return F._where(self <= 0, g * (F.exp(low * input_scale) * (alpha * scale * input_scale)), g * scale)


@slope_rounded_once
def _elu_slope_by_result(g: Any, self_or_result: Any, alpha: float, scale: float, input_scale: float) -> Any:
    if alpha < 0:
        raise RuntimeError(_NEGATIVE_SLOPE.format("elu"))
    return F._where(self_or_result <= 0, g * ((self_or_result + alpha * scale) * input_scale), g * scale)


_elu_back = backward_operator("elu", _elu_slope)
_elu_back_by_result = backward_operator(
    "elu_by_result", _elu_slope_by_result, "self_or_result", node="EluBackwardBackward0"
)
elementwise("elu", _elu, tensors="self", public=False, in_place_node="EluBackward1", self=_elu_back,
            in_place_rules={"self": lambda g, result, alpha, scale, input_scale:
                            _elu_back_by_result(g, result, alpha, scale, input_scale)}, kinds="f")  # fmt: skip


@rounded_once()
def _celu(self: Any, alpha: float = 1.0) -> Any:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    if not real_number(alpha):
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return np.where(self > 0, self, np.expm1(np.minimum(self, 0) / alpha) * held(alpha, self.dtype)).astype(self.dtype)


elementwise("celu", _celu, tensors="self", inplace=True, public=False, in_place_node="CeluBackward1",
            self=lambda g, self, alpha: _elu_back(g, self, alpha, 1.0, 1.0 / alpha), kinds="f",
            in_place_rules={"self": lambda g, result, alpha: _elu_back_by_result(g, result, alpha, 1.0, 1.0 / alpha)},
)  # fmt: skip


def _gelu(self: Any, approximate: str = "none") -> Any:
    """``x`` times its gate, which is ``Φ(x)`` or nearly so; and the gate."""
    if self.dtype == np.float16:  # rounded once, at the end
        out, gate = _gelu(self.astype(np.float32), approximate)
        return out.astype(np.float16), gate
    if approximate == "tanh":
        return computed_in_pieces(_gelu_tanh, self, results=2)
    if approximate != "none":
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    gate = 0.5 * (1.0 + error_function.erf(self * math.sqrt(0.5)))
    return self * gate, gate


def _gelu_tanh(x: Any, out: Any, gate: Any) -> None:
    """The gate ``(1 + tanh(a)) / 2`` with ``a = √(2/π) (x + 0.044715 x³)``, as ``1 / (1 + exp(-2a))``.

    NumPy takes 0.4 of the time for ``exp`` that it takes for ``tanh``; and where the gate is small, it loses no digits.
    """
    np.multiply(x, x, gate)
    gate *= -2.0 * GELU_CUBE * SQRT_2_OVER_PI
    gate -= 2.0 * SQRT_2_OVER_PI
    gate *= x
    np.exp(gate, gate)
    gate += 1
    np.reciprocal(gate, gate)
    np.multiply(gate, x, out)


def _gelu_tanh_slope(x: Any, g: Any, gate: Any, out: Any) -> None:
    """``g · gate · (1 + (1 - gate) u)`` with ``u = 2 √(2/π) (x + 3 · 0.044715 x³)``: the rule below in fewer steps."""
    np.multiply(x, x, out)
    out *= 6.0 * GELU_CUBE * SQRT_2_OVER_PI
    out += 2.0 * SQRT_2_OVER_PI
    out *= x
    out *= 1 - gate
    out += 1
    out *= gate
    out *= g


def _gelu_slope(g: Any, self: Any, approximate: str, gate: Any) -> Any:
    if not isinstance(g, np.ndarray):
        return _gelu_formula(g, self, approximate)
    if self.dtype == np.float16:
        wide: Any = _gelu_slope(g.astype(np.float32), self.astype(np.float32), approximate, gate)
        return wide.astype(np.float16)
    if not self.flags.c_contiguous:  # the slope lies as the operand does
        slope = np.empty_like(self)
        slope[...] = _gelu_slope(np.ascontiguousarray(g), np.ascontiguousarray(self), approximate, gate)
        return slope
    if gate is None:
        gate = _gelu(self, approximate)[1]
    if approximate == "tanh":
        return computed_in_pieces(_gelu_tanh_slope, self, g, gate)
    return g * (gate + self * np.exp(self * self * -0.5) * (1.0 / math.sqrt(2.0 * math.pi)))


def _gelu_formula(g: Any, self: Any, approximate: str) -> Any:
    """The rule in differentiable operators."""
    if approximate == "tanh":
        t = F.tanh(SQRT_2_OVER_PI * (self + GELU_CUBE * self * self * self))
        inner = SQRT_2_OVER_PI * (1.0 + 3.0 * GELU_CUBE * self * self)
        return g * (0.5 * (1.0 + t) + 0.5 * self * (1.0 - t * t) * inner)
    density = F.exp(self * self * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
    return g * (0.5 * (1.0 + F.erf(self * math.sqrt(0.5))) + self * density)


_recorded_gelu_back = backward_operator("gelu", lambda g, self, approximate: _gelu_slope(g, self, approximate, None))


def _gelu_back(g: Any, self: Any, approximate: str, gate: Any) -> Any:
    if isinstance(g, TensorBase):
        return _recorded_gelu_back(g, self, approximate)
    return _gelu_slope(g, self, approximate, gate)


# the gate is kept: to compute it again takes a fifteenth of a transformer block's step
elementwise("gelu", _gelu, tensors="self", public=False, self=_gelu_back, aux=("gate",), spare=("gate",), kinds="f")


def _log_one_plus_exp(x: Any) -> Any:
    """``log(1 + exp(x))`` without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@slope_rounded_once
def _silu_slope(g: Any, self: Any) -> Any:
    s = F.sigmoid(self)
    return g * s * plus(self * number_minus(1, s), 1)


@slope_rounded_once
def _mish_slope(g: Any, self: Any) -> Any:
    t = F.tanh(F.softplus(self, 1.0, 40.0))
    return g * (t + self * F.sigmoid(self) * (1 - t * t))


@rounded_once()
def _softplus(self: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = self * held(beta, self.dtype)
    return np.where(scaled > real_number(threshold), self, _log_one_plus_exp(scaled) / beta).astype(self.dtype)


@slope_rounded_once
def _softplus_slope(g: Any, self: Any, beta: float, threshold: float) -> Any:
    scaled = self * beta
    return F._where(scaled > threshold, g, g * F.sigmoid(scaled))


elementwise("silu", rounded_once()(lambda self: self * _sigmoid(self)), public=False, self=_silu_slope, kinds="fc",
            real_only="silu")  # fmt: skip
elementwise("mish", rounded_once()(lambda self: self * np.tanh(_log_one_plus_exp(self))), public=False,
            self=_mish_slope, kinds="f")  # fmt: skip
elementwise(
    "softplus", _softplus, tensors="self", public=False, self=backward_operator("softplus", _softplus_slope), kinds="f"
)
elementwise("logsigmoid", lambda self: -_log_one_plus_exp(-self), node="LogSigmoidBackward0", public=False,
            self=backward_operator("log_sigmoid", slope_rounded_once(lambda g, self: g * F.sigmoid(-self))),
            kinds="f", layout="rows", for_hooks={"buffer": lambda self: np.exp(-np.abs(self))})  # fmt: skip

# -- gated


def _halves(self: Any, dim: int) -> tuple[Any, Any]:
    if self.ndim == 0:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even: the tensor has 0 dimensions"
        )
    axis = axes_of(dim, self.ndim)[0]
    n = self.shape[axis]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {n}")
    lead = (slice(None),) * axis
    return self[(*lead, slice(0, n // 2))], self[(*lead, slice(n // 2, n))]


def _glu(self: Any, dim: int = -1) -> Any:
    a, b = _halves(self, dim)
    return a * _sigmoid(b)


def _glu_slope(g: Any, self: Any, dim: int) -> Any:
    n = self.shape[dim] // 2
    a, b = F._slice(self, dim, 0, n), F._slice(self, dim, n, 2 * n)
    s = F.sigmoid(b)
    return F.cat([g * s, g * a * s * (1 - s)], dim)


function("glu", _glu, tensors="self", public=False, self=backward_operator("glu", _glu_slope), kinds="f")
