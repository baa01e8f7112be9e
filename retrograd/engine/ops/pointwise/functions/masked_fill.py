"""``masked_fill``, whose value may be a number or a tensor."""

from __future__ import annotations

from typing import Any

from ....aliasing.inplace import call_inplace
from ....table.public import check_tensor, public
from ....table.registry import OPS
from ....tensors.base import TensorBase
from ....tensors.dtype_names import c10_name, c_name
from ....tensors.numbers_ import checked_number


@public("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:  # noqa: A002
    """``input`` with ``value`` (a number or a 0-d tensor) where ``mask``."""
    check_tensor("masked_fill", input)
    return OPS[_fill_row(input, mask, value)](input, mask, _filling(input, value))


def _fill_row(self: Any, mask: Any, value: Any) -> str:
    if mask._sig.kind != "b":
        raise RuntimeError(
            f"masked_fill only supports boolean masks, but got mask with dtype {c_name(mask._sig.numpy)}"
        )
    if not isinstance(value, TensorBase):
        return "masked_fill"
    if value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value._sig.kind == "c" != self._sig.kind and value._array.imag:
        raise RuntimeError(f"value cannot be converted to type {c10_name(self._sig.numpy)} without overflow")
    return "_masked_fill_tensor"


def _filling(self: Any, value: Any) -> Any:
    return value if isinstance(value, TensorBase) else checked_number(value, self._sig.numpy)


@public("masked_fill_", function=False)
def masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """In-place masked fill."""
    return call_inplace(OPS[_fill_row(self, mask, value)], (self, mask, _filling(self, value)), {})
