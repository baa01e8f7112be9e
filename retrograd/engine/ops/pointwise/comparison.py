"""Comparisons, logic on bits and truth values, whole numbers, and questions about numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import elementwise, nondifferentiable, underivable
from ...tensors.dtype_names import scalar_name

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
