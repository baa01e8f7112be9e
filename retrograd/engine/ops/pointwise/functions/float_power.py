"""``float_power``: powers in double precision."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ....aliasing.inplace import call_inplace
from ....table.public import check_tensor, public
from ....table.registry import OPS, F
from ....tensors.base import TensorBase
from .arithmetic import operand_of


def _needs_complex(*values: Any) -> bool:
    return any(v._sig.kind == "c" if isinstance(v, TensorBase) else isinstance(v, builtins.complex) for v in values)


@public("float_power", out=True)
def float_power(input: Any, exponent: Any) -> Any:  # noqa: A002
    """``input ** exponent``, computed in float64 or complex128."""
    if not isinstance(input, TensorBase) and not isinstance(exponent, TensorBase):
        check_tensor("float_power", input)
    numpy = np.dtype("c16" if _needs_complex(input, exponent) else "f8")
    base, power = (F._to_copy(v, numpy) if isinstance(v, TensorBase) and v._sig.numpy != numpy else v
                   for v in (input, exponent))  # fmt: skip
    return _pow(base, power)


def _pow(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, TensorBase):
        return F._pow_scalar(base, operand_of(exponent))
    return F._pow_tensor(base, exponent) if isinstance(base, TensorBase) else F._pow_base(operand_of(base), exponent)


@public("float_power_", function=False)
def float_power_(self: Any, exponent: Any) -> Any:
    """In-place power; the tensor must be float64 or complex128 already."""
    wanted = "c16" if _needs_complex(self, exponent) else "f8"
    if self._sig.numpy != np.dtype(wanted):
        raise RuntimeError("the base given to float_power_ has dtype other than the result's dtype")
    row = OPS["_pow_tensor" if isinstance(exponent, TensorBase) else "_pow_scalar"]
    return call_inplace(row, (self, operand_of(exponent)), {})
