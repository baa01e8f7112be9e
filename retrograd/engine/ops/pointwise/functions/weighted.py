"""Sums with a weight: ``lerp``, ``addcmul``, ``addcdiv``."""

from __future__ import annotations

from typing import Any

from ....aliasing.inplace import call_inplace
from ....calls.promotion import cast
from ....table.public import check_tensor, public
from ....table.registry import OPS
from ....tensors.base import TensorBase


@public("lerp", out=True)
def lerp(input: Any, end: Any, weight: Any) -> Any:  # noqa: A002
    """``input + weight * (end - input)``; ``weight`` is a number or a tensor."""
    check_tensor("lerp", input)
    weight = _fitting_weight(input, end, weight)
    return OPS[_lerp_row(weight)](input, end, weight)


def _lerp_row(weight: Any) -> str:
    return "_lerp_tensor" if isinstance(weight, TensorBase) else "_lerp_number"


def _fitting_weight(input: Any, end: Any, weight: Any) -> Any:  # noqa: A002
    """The weight in the dtype of what it weighs, where it is of another one, a single number and real enough."""
    ours = input._sig.numpy
    if isinstance(weight, TensorBase) and not weight.ndim and (ours.kind == "c" or weight._sig.kind != "c"):
        weight = cast(weight, ours)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, TensorBase) and value._sig.numpy != input._sig.numpy:
            raise RuntimeError(
                f"expected dtype {input.dtype} for `{name}` but got dtype {value.dtype}; convert it with .to(...) first"
            )
    return weight


@public("lerp_", function=False)
def lerp_(self: Any, end: Any, weight: Any) -> Any:
    """In-place linear interpolation."""
    weight = _fitting_weight(self, end, weight)
    return call_inplace(OPS[_lerp_row(weight)], (self, end, weight), {})


def _fused(name: str) -> None:
    """Publish ``addcmul`` or ``addcdiv`` and its in-place form."""
    row = OPS["_" + name]

    def call(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:  # noqa: A002
        check_tensor(name, input)
        _refuse_integers(name, input, tensor1, tensor2)
        return row(input, tensor1, tensor2, value)

    def call_in_place(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        _refuse_integers(name, self, tensor1, tensor2)
        return call_inplace(row, (self, tensor1, tensor2, value), {})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = row.forward.__doc__
    public(name, out=True)(call)
    public(name + "_", function=False)(call_in_place)


def _refuse_integers(name: str, *operands: Any) -> None:
    if name == "addcdiv" and not any(t._sig.kind in "fc" for t in operands[1:]):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use (input + value * torch.trunc(tensor1 / tensor2))"
            " or convert to a floating dtype first"
        )


_fused("addcmul")
_fused("addcdiv")
