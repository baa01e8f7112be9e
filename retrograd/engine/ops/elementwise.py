"""Element-wise operators: arithmetic, powers, exponentials, trigonometry, rounding, selection."""

from __future__ import annotations

import cmath
import functools
import math
from typing import Any

import numpy as np

from ..kernels.in_pieces import scaled_into
from ..kernels.masking import kept, positive
from ..table.registry import F
from ..table.rows import elementwise, linear, nondifferentiable, underivable
from ..tensors.base import TensorBase
from ..tensors.bits import CONJUGATE, NEGATIVE
from ..tensors.dtypes import scalar_name

# -- arithmetic


def _scaled(x: Any, alpha: Any) -> Any:
    return x if alpha == 1 else x * alpha


def element(value: Any, dtype: Any) -> Any:
    """A number in a dtype; integers wrap around as in C."""
    try:
        return dtype.type(value)
    except OverflowError:
        return np.asarray(value).astype(dtype)[()]


def _times(x: Any, alpha: Any, to: Any) -> Any:
    """What is added ``to`` something, multiplied."""
    if alpha == 1 and alpha is not True:
        return x
    array = x if x.__class__ is np.ndarray else to
    if array.__class__ is np.ndarray:
        check_factor("alpha", alpha, array.dtype.kind)
        if array is x and x.dtype.kind == "b":
            return x & bool(alpha)
    return x * (element(alpha, x.dtype) if x.__class__ is np.ndarray and x.dtype.kind == "u" else alpha)


def check_factor(name: str, factor: Any, kind: str) -> None:
    """``RuntimeError`` in torch's words for a factor of another kind than the result."""
    if isinstance(factor, bool) and kind != "b":
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(factor, (float, complex)) and kind in "biu":
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if isinstance(factor, complex) and kind != "c":
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def _add(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self + alpha * other``."""
    return np.add(self, _times(other, alpha, self))


def _sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self - alpha * other``."""
    return np.subtract(self, _times(other, alpha, self))


def _fitting(number: Any, x: Any) -> Any:
    return element(number, x.dtype) if number.__class__ is int and x.dtype.kind == "u" else number


def _rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``other - alpha * self``."""
    return np.subtract(_fitting(other, self), _times(self, alpha, other))


def conj(x: Any) -> Any:
    """The complex conjugate; real values are returned as they are."""
    if x.__class__ is np.ndarray:
        return np.conjugate(x) if x.dtype.kind == "c" else x
    sig = getattr(x, "_sig", None)
    if sig is not None:
        return F.conj(x) if sig.numpy.kind == "c" else x
    return x.conjugate() if isinstance(x, (complex, np.complexfloating)) else x


linear(
    "conj", lambda self: np.conjugate(self) if self.dtype.kind == "c" else self, node="ConjBackward0",
    self=lambda g: F.conj(g),
)  # fmt: skip
linear("_conj", lambda self: self[...], node="ConjBackward0", self=lambda g: F.conj(g), view=True, toggles=CONJUGATE)
linear("_neg_view", lambda self: self[...], node="NegViewBackward0", self=lambda g: -g, view=True, toggles=NEGATIVE)
elementwise("add", _add, self=lambda g: g, other=lambda g, alpha: _scaled(g, conj(alpha)), inplace=True,
            into=functools.partial(scaled_into, np.add))  # fmt: skip
elementwise("sub", _sub, self=lambda g: g, other=lambda g, alpha: _scaled(-g, conj(alpha)), inplace=True, truth=False,
            into=functools.partial(scaled_into, np.subtract))  # fmt: skip
elementwise(
    "_rsub_number",
    _rsub,
    node="RsubBackward1",
    tensors="self",
    promote="",
    self=lambda g, alpha: _scaled(-g, conj(alpha)),
)
elementwise(
    "rsub", _rsub, node="RsubBackward0", truth=False, public=False,
    self=lambda g, alpha: _scaled(-g, conj(alpha)), other=lambda g: g,
)  # fmt: skip
elementwise(
    "mul",
    np.multiply,
    self=lambda g, other: g * conj(other),
    other=lambda g, self: g * conj(self),
    inplace=True,
    into=lambda self, other: np.multiply(self, other, out=self),
)


def _div(self: Any, other: Any) -> Any:
    """True division."""
    return np.true_divide(self, other)


elementwise(
    "div", _div, promote="float", inplace=True, into=lambda self, other: np.true_divide(self, other, out=self),
    self=lambda g, other: g / conj(other),
    other=lambda g, self, other: -g * conj((self / other) / other),
)  # fmt: skip


def whole_divisor(self: Any, other: Any) -> Any:
    """The divisor of a division; ``RuntimeError`` where it is 0 and both are integers (floats give infinity)."""
    if np.result_type(self, other).kind in "iu" and not np.all(other) and np.size(self) and np.size(other):
        raise RuntimeError("ZeroDivisionError: integer division by zero")
    return other


def _floor_divide(self: Any, other: Any) -> Any:
    """Division rounded down."""
    return np.floor_divide(self, whole_divisor(self, other))


def _div_rounded(self: Any, other: Any, rounding_mode: str) -> Any:
    """Division rounded down (``"floor"``) or towards zero (``"trunc"``)."""
    if rounding_mode == "floor":
        return _floor_divide(self, other)
    whole_divisor(self, other)
    if np.result_type(self, other).kind in "iu":
        quotient = np.floor_divide(self, other)
        return quotient + ((quotient < 0) & (quotient * other != self))
    return np.trunc(np.true_divide(self, other))


def zero_gradient(g: Any) -> Any:
    """The rule of operators that are constant almost everywhere."""
    return F.zeros_like(g)


elementwise(
    "_div_rounded", _div_rounded, node="DivBackward2", tensors="self other", promote="common", kinds="fiu",
    self=lambda g, other, rounding_mode: zero_gradient(g), other=lambda g, self, other: zero_gradient(g),
)  # fmt: skip
underivable("floor_divide", _floor_divide, tensors="self other", promote="common", inplace=True, kinds="fiu")
elementwise("neg", np.negative, self=lambda g: -g, inplace=True)


elementwise("abs", np.absolute, self=lambda g, self: g * F.sgn(self), inplace=True, kinds="fciu")


def _sign(self: Any) -> Any:
    """-1, 0 or 1; 0 also for NaN."""
    if self.dtype.kind == "b":
        return self
    if self.dtype.kind == "c":
        raise NotImplementedError("sign is not implemented for complex numbers; use torch.sgn")
    signs = np.sign(self)
    return np.nan_to_num(signs) if np.isnan(np.add.reduce(signs, axis=None)) else signs


def _sgn(self: Any) -> Any:
    """Sign; for complex numbers ``z / |z|`` (0 at 0)."""
    if self.dtype.kind != "c":
        return _sign(self)
    size = np.absolute(self)
    return np.where(size == 0, 0, self / np.where(size == 0, 1, size)).astype(self.dtype)


def _sgn_grad(g: Any, self: Any, result: Any) -> Any:
    if np.dtype(self.dtype).kind != "c":
        return F.zeros_like(g)
    size = F.abs(self)
    safe = F._where(size == 0, F.ones_like(size), size)
    return F._where(size == 0, F.zeros_like(g), (g - F.real(g * F.conj(result)) * result) / safe)


# Not holomorphic, so that its tangent is no conjugate of its reverse rule; the map is its own transpose.
elementwise("sgn", _sgn, self=_sgn_grad, inplace=True,
            jvp=lambda primal, tangents, results: _sgn_grad(tangents[0], primal[0], results[0]))  # fmt: skip
elementwise("sign", _sign, self=zero_gradient, inplace=True)


def _square(self: Any) -> Any:
    """``self * self``."""
    return np.square(self, dtype=np.int64) if self.dtype.kind == "b" else np.square(self)


elementwise("square", _square, node="PowBackward0", self=lambda g, self: g * (2 * conj(self)), inplace=True,
            shown={"exponent": lambda: 2})  # fmt: skip
elementwise(
    "reciprocal", lambda self: np.reciprocal(self), promote="float",
    self=lambda g, result: -g * conj(result * result), inplace=True,
)  # fmt: skip


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
    return np.power(self, exponent)


def integer_power(self: Any, exponent: Any) -> Any:
    """Powers of integers; those with a negative exponent are cut off to 0, 1 or -1."""
    if self.dtype.kind != "i" or not (np.asarray(exponent) < 0).any():
        return np.power(self, exponent)
    sign = np.where(np.asarray(exponent) % 2, self, np.ones_like(self))
    cut = np.where(np.abs(self) == 1, sign, np.zeros_like(self))
    return np.where(exponent < 0, cut, np.power(self, np.maximum(exponent, 0)))


def _pow_self(g: Any, self: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float)) and exponent == 0:
        return F.zeros_like(g)
    return g * conj(exponent * self ** (exponent - 1))


def _pow_tensor_self(g: Any, self: Any, exponent: Any) -> Any:
    return F._where(exponent == 0.0, F.zeros_like(g), g * conj(exponent * self ** (exponent - 1)))


def _pow_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    # 0 ** e has no usable log; its derivative is 0 for e >= 0
    flat = (self == 0) & (F.real(exponent) >= 0)
    log = F.log(F._where(flat, F.ones_like(self), self))
    slope = F._where(flat, F.zeros_like(result), result * log)
    return g * conj(slope)


elementwise("_pow_scalar", _pow_scalar, node="PowBackward0", tensors="self", self=_pow_self)
elementwise(
    "_pow_tensor", integer_power, node="PowBackward1",
    self=_pow_tensor_self, exponent=_pow_exponent,
    kinds="fciu",
)  # fmt: skip


def _base_pow(self: Any, exponent: Any) -> Any:
    return integer_power(np.asarray(element(self, exponent.dtype)), exponent)


def _pow_base_slope(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    if isinstance(self, complex) or np.dtype(getattr(result.dtype, "numpy", result.dtype)).kind == "c":
        return g * conj(result * (cmath.log(self) if self else 0))
    if self == 0:
        return F._where(F.real(exponent) >= 0, F.zeros_like(g), -math.inf * g * conj(result))
    return g * conj(result * (math.log(self) if self > 0 else math.nan))


elementwise("_pow_base", _base_pow, node="PowBackward2", tensors="exponent", exponent=_pow_base_slope)
elementwise("sqrt", np.sqrt, promote="float", self=lambda g, result: g / (2 * conj(result)), inplace=True)
elementwise(
    "rsqrt", lambda self: np.reciprocal(np.sqrt(self)), promote="float",
    self=lambda g, result: -0.5 * g * conj(result * result * result), inplace=True,
)  # fmt: skip

# -- exponentials and logarithms

elementwise("exp", np.exp, promote="float", self=lambda g, result: g * conj(result), inplace=True)
elementwise("exp2", np.exp2, promote="float", self=lambda g, result: g * conj(result) * math.log(2), inplace=True)
elementwise("expm1", np.expm1, promote="float", self=lambda g, result: g * conj(result + 1), inplace=True)
elementwise("log", np.log, promote="float", self=lambda g, self: g / conj(self), inplace=True)
elementwise("log2", np.log2, promote="float", self=lambda g, self: g / (conj(self) * math.log(2)), inplace=True)
elementwise("log10", np.log10, promote="float", self=lambda g, self: g / (conj(self) * math.log(10)), inplace=True)
elementwise(
    "log1p", np.log1p, node="Log1PBackward0", promote="float", self=lambda g, self: g / conj(self + 1), inplace=True
)

# -- trigonometry

elementwise("sin", np.sin, promote="float", self=lambda g, self: g * conj(F.cos(self)), inplace=True)
elementwise("cos", np.cos, promote="float", self=lambda g, self: g * -conj(F.sin(self)), inplace=True)
elementwise("tan", np.tan, promote="float", self=lambda g, result: g * conj(1 + result * result), inplace=True)
elementwise("tanh", np.tanh, promote="float", self=lambda g, result: F._tanh_backward(g, conj(result)), inplace=True)
elementwise(
    "_tanh_backward", lambda grad_output, output: grad_output * (1 - output * output),
    node="TanhBackwardBackward0",
    grad_output=lambda g, output: F._tanh_backward(g, conj(output)),
    output=lambda g, grad_output, output: g * conj(grad_output * -2 * output),
)  # fmt: skip


# -- activations


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


# -- bounds and selection

linear("_kept", kept, node="MaskedFillBackward0", tensors="values mask",
       values=lambda g, mask, when: F._kept(g, mask, when),
       jvp=lambda primal, tangents, results: F._kept(tangents[0], *primal[1:]))  # fmt: skip


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """Limit each element to ``[min, max]``."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    out = self if min is None else np.maximum(self, element(min, self.dtype))
    return out if max is None else np.minimum(out, element(max, self.dtype))


def within(self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    """Where an element lies between the bounds, of which one may be None."""
    inside = None if min is None else self >= min
    if max is not None:
        inside = self <= max if inside is None else inside & (self <= max)
    return inside


elementwise("_clamp_scalar", _clamp, node="ClampBackward1", tensors="self", inplace=True,
            self=lambda g, self, min, max: F._kept(g, within(self, min, max)))  # fmt: skip


def _tie(g: Any, loses: Any, ties: Any) -> Any:
    """The gradient of the larger (or smaller) operand; at a tie each gets half, beside NaN both get all."""
    return F._where(ties, g / 2, F._kept(g, loses, False))


elementwise(
    "maximum", np.maximum, numbers=False,
    self=lambda g, self, other: _tie(g, self < other, self == other),
    other=lambda g, self, other: _tie(g, other < self, self == other),
    kinds="fiub",
)  # fmt: skip
elementwise(
    "minimum", np.minimum, numbers=False,
    self=lambda g, self, other: _tie(g, self > other, self == other),
    other=lambda g, self, other: _tie(g, other > self, self == other),
    kinds="fiub",
)  # fmt: skip


def _where(condition: Any, self: Any, other: Any) -> Any:
    return np.where(condition, self, other)


elementwise(
    "_where", _where, node="WhereBackward0", tensors="self other", arrays="condition",
    self=lambda g, condition: F._kept(g, condition),
    other=lambda g, condition: F._kept(g, condition, False),
)  # fmt: skip


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """``self`` with ``value`` where ``mask``."""
    shape = np.broadcast_shapes(self.shape, mask.shape)
    out = np.array(np.broadcast_to(self, shape))
    out[np.broadcast_to(mask, shape)] = value
    return out


linear("masked_fill", _masked_fill, tensors="self mask", self=lambda g, mask: F._kept(g, mask, False),
       jvp=lambda primal, tangents, results: F._kept(tangents[0], primal[1], False), layout="rows")  # fmt: skip
linear(
    "_masked_fill_tensor", _masked_fill, node="MaskedFillBackward1", tensors="self mask value",
    self=lambda g, mask: F._kept(g, mask, False),
    value=lambda g, mask: F.sum(F._kept(g, mask)), layout="rows",
)  # fmt: skip

# -- comparison, logic, rounding: no gradient

_ufunc: Any


def _ordering(name: str, compare: Any) -> Any:
    def forward(self: Any, other: Any) -> Any:
        for operand in (self, other):
            if np.iscomplexobj(operand):
                dtype = scalar_name(np.result_type(operand, np.complex64))
                raise NotImplementedError(
                    f"\"{name}_cpu\" not implemented for '{dtype}': complex numbers have no order"
                )
        return compare(self, other)

    forward.__doc__ = f"Element-wise {name}."
    return forward


COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": _ordering("lt", np.less), "le": _ordering("le", np.less_equal),
    "gt": _ordering("gt", np.greater), "ge": _ordering("ge", np.greater_equal),
}  # fmt: skip
for _name, _ufunc in COMPARISONS.items():
    nondifferentiable(_name, _ufunc, tensors="self other", promote="common", inplace=True)
for _name, _ufunc in {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}.items():  # fmt: skip
    nondifferentiable(_name, _ufunc, tensors="self other", inplace=True, numbers=False, layout="operands")
for _name, _ufunc in {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}.items():  # fmt: skip
    nondifferentiable(_name, _ufunc, tensors="self other", promote="common", inplace=True)
for _name, _ufunc in {
    "logical_not": np.logical_not, "bitwise_not": np.invert, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "signbit": np.signbit,
}.items():  # fmt: skip
    nondifferentiable(_name, _ufunc, inplace=_name.endswith("not"))
for _name, _round in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    elementwise(_name, _round, self=zero_gradient, inplace=True, kinds="fiu")


elementwise(
    "remainder", lambda self, other: np.remainder(self, whole_divisor(self, other)), node="RemainderBackward1",
    self=lambda g: g, other=lambda g, self, other: -g * F._div_rounded(self, other, "floor"), inplace=True,
    kinds="fiu",
)  # fmt: skip
