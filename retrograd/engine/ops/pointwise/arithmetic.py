"""Arithmetic on elements: sums, products, quotients, remainders, signs, squares; and parts that other rules use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.absent import AbsentMemory, refusal
from ...core.argument_checks import checked_number
from ...core.base import TensorBase
from ...core.bits import CONJUGATE, NEGATIVE
from ...core.registry import F
from ...kernels.halves import exact, is_half, rounded_once, through_half
from ...kernels.in_pieces import scaled_into
from ...rules.by_number import number_minus, over, times
from ...table.rows import elementwise, linear, underivable

_SINGLE = np.dtype(np.float32)


def scaled(g: Any, factor: Any) -> Any:
    """A gradient times a factor, unless that is 1."""
    return g if factor == 1 else times(g, exact(factor, g))


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
        if array.dtype.kind == "f":
            checked_number(alpha, array.dtype)
    return x * (element(alpha, x.dtype) if x.__class__ is np.ndarray and x.dtype.kind == "u" else alpha)


def check_factor(name: str, factor: Any, kind: str) -> None:
    """``RuntimeError`` in torch's words for a factor of another kind than the result."""
    if isinstance(factor, bool) and kind != "b":
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(factor, (float, complex)) and kind in "biu":
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if isinstance(factor, complex) and kind != "c":
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


@rounded_once(operands=3)
def _add(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self + alpha * other``."""
    return np.add(self, _times(other, alpha, self))


@rounded_once(operands=3)
def _sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self - alpha * other``."""
    return np.subtract(self, _times(other, alpha, self))


def _fitting(number: Any, x: Any) -> Any:
    return element(number, x.dtype) if number.__class__ is int and x.dtype.kind == "u" else number


@rounded_once(operands=3)
def _rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``other - alpha * self``."""
    return np.subtract(_fitting(other, self), _times(self, alpha, other))


def raw(x: Any) -> Any:
    """The array behind a tensor or array: for questions about values that steer a rule."""
    if not isinstance(x, TensorBase):
        return np.asarray(x)
    if x._array.__class__ is AbsentMemory:
        raise refusal("a value")
    return x._array


def conj(x: Any) -> Any:
    """The complex conjugate; real values are returned as they are."""
    if x.__class__ is np.ndarray:
        return np.conjugate(x) if x.dtype.kind == "c" else x
    sig = getattr(x, "_sig", None)
    if sig is not None:
        return F.conj(x) if sig.kind == "c" else x
    return x.conjugate() if isinstance(x, (complex, np.complexfloating)) else x


linear(
    "conj", lambda self: np.conjugate(self) if self.dtype.kind == "c" else self, node="ConjBackward0",
    self=lambda g: F.conj(g),
)  # fmt: skip
linear("_conj", lambda self: self[...], node="ConjBackward0", self=lambda g: F.conj(g), view=True, toggles=CONJUGATE)
linear("_neg_view", lambda self: self[...], node="NegViewBackward0", self=lambda g: -g, view=True, toggles=NEGATIVE)
elementwise("add", _add, self=lambda g: g, other=lambda g, alpha: scaled(g, conj(alpha)), inplace=True,
            into=functools.partial(scaled_into, np.add))  # fmt: skip
elementwise("sub", _sub, self=lambda g: g, other=lambda g, alpha: scaled(-g, conj(alpha)), inplace=True, truth=False,
            into=functools.partial(scaled_into, np.subtract))  # fmt: skip
elementwise(
    "_rsub_number",
    _rsub,
    node="RsubBackward1",
    tensors="self",
    promote="",
    self=lambda g, alpha: scaled(-g, conj(alpha)),
)
elementwise(
    "rsub", _rsub, node="RsubBackward0", truth=False, public=False, layout="swapped",
    self=lambda g, alpha: scaled(-g, conj(alpha)), other=lambda g: g,
)  # fmt: skip


def _by_number(function: Callable[..., Any], self: Any, other: Any) -> Any:
    """``function`` of halves and a number, where it is that; otherwise of the operands as they are."""
    if is_half(self) and (other.__class__ in (int, float) or (other.__class__ is np.ndarray and not is_half(other))):
        return function(self, exact(other, self)).astype(self.dtype)
    return function(self, other)


def _mul(self: Any, other: Any) -> Any:
    """``self * other``."""
    return _by_number(np.multiply, self, other)


_mul.of_wider, _mul.rounds = np.multiply, 0  # type: ignore[attr-defined]


elementwise(
    "mul",
    _mul,
    self=lambda g, other: g * conj(exact(other, g)),
    other=lambda g, self: g * conj(self),
    inplace=True,
    into=lambda self, other: np.multiply(self, other, out=self),
)


def _div(self: Any, other: Any) -> Any:
    """True division."""
    return _by_number(np.true_divide, self, other)


_div.of_wider, _div.rounds = np.true_divide, 0  # type: ignore[attr-defined]


elementwise(
    "div", _div, promote="float", inplace=True, into=lambda self, other: np.true_divide(self, other, out=self),
    self=lambda g, other: g / conj(exact(other, g)),
    other=lambda g, self, other: -g * conj((self / other) / other),
)  # fmt: skip

# with a number of C++ rather than one of the program, which becomes a tensor: nodes of one operand
elementwise("_add_number", _add, node="AddBackward1", tensors="self", promote="", self=lambda g: g)
elementwise("_sub_number", _sub, node="SubBackward1", tensors="self", promote="", self=lambda g: g)
elementwise("_mul_number", _mul, node="MulBackward1", tensors="self", promote="",
            self=lambda g, other: times(g, conj(exact(other, g))))  # fmt: skip
elementwise("_div_number", _div, node="DivBackward1", tensors="self", promote="",
            self=lambda g, other: over(g, conj(exact(other, g))))  # fmt: skip


def whole_divisor(self: Any, other: Any) -> Any:
    """The divisor of a division; ``RuntimeError`` where it is 0 and both are integers (floats give infinity)."""
    if np.result_type(self, other).kind in "iu" and not np.all(other) and np.size(self) and np.size(other):
        raise RuntimeError("ZeroDivisionError: integer division by zero")
    return other


def _quotient(self: Any, other: Any, rounding_mode: str) -> Any:
    """A quotient of numbers in the dtype that they have, rounded down or towards zero."""
    return np.floor_divide(self, other) if rounding_mode == "floor" else np.trunc(np.true_divide(self, other))


def _quotient_in_steps(step: Callable[[Any], Any], self: Any, other: Any, rounding_mode: str) -> Any:
    """A quotient of halves given in single precision, each intermediate result rounded (``step``) as PyTorch does.

    By a single number PyTorch computes all of it in single precision.
    """
    if np.size(other) == 1:
        return _quotient(self, other, rounding_mode)
    self = self if self.__class__ is np.ndarray else step(_SINGLE.type(self))
    quotient = step(np.true_divide(self, other))
    if rounding_mode == "trunc":
        return np.trunc(quotient)
    rest = np.fmod(self, other)
    whole = step(np.true_divide(step(self - rest), other))
    whole = np.where((rest != 0) & ((other < 0) != (rest < 0)), step(whole - 1), whole)
    down = np.floor(whole)
    down = np.where(step(whole - down) > 0.5, step(down + 1), down)
    return np.where(other == 0, quotient, np.where(whole == 0, np.copysign(np.zeros_like(down), quotient), down))


def _div_rounded(self: Any, other: Any, rounding_mode: str) -> Any:
    """Division rounded down (``"floor"``) or towards zero (``"trunc"``)."""
    whole_divisor(self, other)
    if is_half(self) or is_half(other):
        dividend, divisor = [x.astype(_SINGLE) if is_half(x) else x for x in (self, other)]
        return np.asarray(_quotient_in_steps(through_half, dividend, divisor, rounding_mode)).astype(np.float16)
    if rounding_mode == "trunc" and np.result_type(self, other).kind in "iu":
        quotient = np.floor_divide(self, other)
        return quotient + ((quotient < 0) & (quotient * other != self))
    return _quotient(self, other, rounding_mode)


def _floor_divide(self: Any, other: Any) -> Any:
    """Division rounded down."""
    return _div_rounded(self, other, "floor")


_div_rounded.rounds = _floor_divide.rounds = 0  # type: ignore[attr-defined]
_div_rounded.in_steps = _quotient_in_steps  # type: ignore[attr-defined]
_floor_divide.in_steps = functools.partial(_quotient_in_steps, rounding_mode="floor")  # type: ignore[attr-defined]


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


# Not holomorphic, so that its tangent is not the conjugate of its reverse rule; the map is its own transpose.
elementwise("sgn", _sgn, self=_sgn_grad, inplace=True,
            jvp=lambda primal, tangents, results: _sgn_grad(tangents[0], primal[0], results[0]))  # fmt: skip
elementwise("sign", _sign, self=zero_gradient, inplace=True)


def _square(self: Any) -> Any:
    """``self * self``."""
    return np.square(self, dtype=np.int64) if self.dtype.kind == "b" else np.square(self)


def _square_back(g: Any, self: Any) -> Any:
    base = F._pow_scalar(self, 1) if isinstance(self, TensorBase) else self
    return g * conj(times(base, 2))


elementwise("square", _square, node="PowBackward0", self=_square_back, inplace=True,
            shown={"exponent": lambda: 2})  # fmt: skip


def reciprocal(self: Any) -> Any:
    """``1 / self``; that of a complex zero is infinite in its real part."""
    found = np.reciprocal(self)
    return np.where(self == 0, found.dtype.type(_OF_ZERO), found) if found.dtype.kind == "c" else found


_OF_ZERO = complex(np.inf, np.nan)


elementwise(
    "reciprocal", lambda self: reciprocal(self), promote="float",
    self=lambda g, result: -g * conj(result * result), inplace=True,
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
elementwise(
    "_fmod_number", _fmod, node="FmodBackward0", tensors="self other", promote="common", self=lambda g: g, kinds="fiu"
)
elementwise(
    "remainder", _remainder, node="RemainderBackward1",
    self=lambda g: g, other=lambda g, self, other: -g * F._div_rounded(self, other, "floor"), inplace=True,
    kinds="fiu",
)  # fmt: skip
elementwise(
    "_remainder_number", _remainder, node="RemainderBackward0", tensors="self other", promote="common",
    self=lambda g: g, kinds="fiu",
)  # fmt: skip


# -- three operands


def _lerp_fraction(self: Any, end: Any, weight: Any) -> Any:
    # the formula is changed in the middle, so that a weight of 1 gives exactly `end`
    return np.where(np.absolute(weight) < 0.5, self + weight * (end - self), end - (end - self) * (1 - weight))


@rounded_once(operands=2)
def _lerp(self: Any, end: Any, weight: Any) -> Any:
    """``self + weight * (end - self)``."""
    if not isinstance(weight, np.ndarray):
        weight = checked_number(weight, self.dtype)
    return _lerp_fraction(self, end, weight).astype(self.dtype)


elementwise("_lerp_number", _lerp, node="LerpBackward0", tensors="self end", promote="",
            self=lambda g, weight: times(g, conj(1 - weight)), end=lambda g, weight: times(g, conj(weight)),
            kinds="fc")  # fmt: skip
elementwise(
    "_lerp_tensor", _lerp, node="LerpBackward1", tensors="self end weight", promote="",
    self=lambda g, weight: g * conj(number_minus(1, weight)), end=lambda g, weight: g * conj(weight),
    weight=lambda g, self, end: g * conj(end - self), kinds="fc",
)  # fmt: skip


@rounded_once(operands=3)
def _addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """``self + value * tensor1 * tensor2``."""
    return self + checked_number(value, self.dtype) * tensor1 * tensor2


@rounded_once(operands=3)
def _addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """``self + value * tensor1 / tensor2``."""
    return self + checked_number(value, self.dtype) * (tensor1 / tensor2)


elementwise(
    "_addcmul", _addcmul, node="AddcmulBackward0", tensors="self tensor1 tensor2",
    self=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(times(tensor2, exact(value, tensor2))),
    tensor2=lambda g, tensor1, value: g * conj(times(tensor1, exact(value, tensor1))),
    kinds="fciu",
)  # fmt: skip
elementwise(
    "_addcdiv", _addcdiv, node="AddcdivBackward0", tensors="self tensor1 tensor2",
    self=lambda g: g, tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * conj((times(tensor1, value) / tensor2) / tensor2),
)  # fmt: skip
