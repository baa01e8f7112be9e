"""Comparisons, selections and roundings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import held
from ...core.base import TensorBase, wrap
from ...core.dtypes import scalar_name
from ...core.narrow import is_narrow, kind_of, limits, rounded, single
from ...core.registry import F
from ...kernels.masking import kept
from ...rules.by_number import over
from ...table.rows import elementwise, linear, nondifferentiable, underivable
from .arithmetic import element, zero_gradient

# Comparisons, logic on bits and truth values, whole numbers, and questions about numbers.

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


def _asking(ask: Any) -> Any:
    def forward(self: Any) -> Any:
        return ask(self)

    forward.__doc__ = f"Element-wise {ask.__name__}."
    return forward


for _name, _ask in {"isneginf": np.isneginf, "isposinf": np.isposinf, "isreal": np.isreal}.items():
    nondifferentiable(_name, _asking(_ask))

# -- in place, a comparison takes the place of a differentiable value: its gradient is zero

for _name, _compare in COMPARISONS.items():
    elementwise(
        f"_{_name}_inplace_number", _compare, node=_name.capitalize() + "Backward0", tensors="self other",
        self=lambda g: F.zeros_like(g),
    )  # fmt: skip
    elementwise(
        f"_{_name}_inplace_tensor", _compare, node=_name.capitalize() + "Backward1",
        self=lambda g: F.zeros_like(g), other=lambda g: F.zeros_like(g),
    )  # fmt: skip


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


# Bounds on elements, and elements chosen by a condition.

linear("_kept", kept, node="MaskedFillBackward0", tensors="values mask",
       values=lambda g, mask, when: F._kept(g, mask, when),
       jvp=lambda primal, tangents, results: F._kept(tangents[0], *primal[1:]))  # fmt: skip


def passed(g: Any, condition: Any, when: bool = True) -> Any:
    """A gradient where a condition is as it says, 0 elsewhere; in PyTorch's formulas a choice between two tensors."""
    if not isinstance(g, TensorBase):
        return F._kept(g, condition, when)
    nothing = wrap(np.zeros((), g._sig.numpy))
    return F._where(condition, g, nothing) if when else F._where(condition, nothing, g)


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """Limit each element to ``[min, max]``."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = self.dtype
    bound = held if dtype.kind == "f" else element
    out = self if min is None else np.maximum(self, bound(min, dtype))
    return out if max is None else np.minimum(out, bound(max, dtype))


def within(self: Any, min: Any, max: Any) -> Any:  # noqa: A002
    """Where an element lies between the bounds, of which one may be None."""
    inside = None if min is None else self >= min
    if max is not None:
        inside = self <= max if inside is None else inside & (self <= max)
    return inside


elementwise("_clamp_scalar", _clamp, node="ClampBackward1", tensors="self", inplace=True,
            self=lambda g, self, min, max: passed(g, within(self, min, max)))  # fmt: skip


def _tie(g: Any, loses: Any, ties: Any) -> Any:
    """The gradient of the larger (or smaller) operand; at a tie each gets half, beside NaN both get all."""
    return F._kept(F._where(ties, over(g, 2), g), loses, False)


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
    return np.where(getattr(condition, "_array", condition), self, other)


elementwise(
    "_where", _where, node="WhereBackward0", tensors="self other", arrays="condition",
    self=lambda g, condition: passed(g, condition),
    other=lambda g, condition: passed(g, condition, False),
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


# -- the larger and the smaller, NaN ignored; bounds that are tensors


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


# Rounding, and `nan_to_num`.

for _rounding_name, _round in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    elementwise(_rounding_name, _round, self=zero_gradient, inplace=True, kinds="fiu")
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
