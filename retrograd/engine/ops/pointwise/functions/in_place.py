"""Forms in place and with a weight: masked fills, `lerp`, `addcmul`; one operator on every tensor of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....calls.inplace import call_inplace
from ....calls.promotion import cast
from ....calls.wrappers import called
from ....core.argument_checks import checked_number
from ....core.base import TensorBase
from ....core.dtypes import c10_name, c_name
from ....core.registry import OPS
from ....table.public import FUNCTIONS, check_tensor, public
from .arithmetic import operand_of

# In-place forms without rows: of comparisons, and of `abs`.


def _comparison_in_place(name: str) -> None:
    def call(self: Any, other: Any) -> Any:
        row = f"_{name}_inplace_" + ("tensor" if isinstance(other, TensorBase) else "number")
        return call_inplace(OPS[row], (self, operand_of(other)), {})

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"In-place {name}: 1 where it holds, 0 elsewhere."
    public(name + "_", function=False)(call)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison_in_place(_name)


@public("abs_")
def abs_(self: Any) -> Any:
    """In-place absolute value; refused for complex tensors, whose absolute values are real."""
    if self._sig.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return call_inplace(OPS["abs"], (self,), {})


# `masked_fill`, whose value may be a number or a tensor.


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


# Sums with a weight: `lerp`, `addcmul`, `addcdiv`.


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


# `_foreach_*`: one operator on every tensor of a list; each records as it would alone.

_METHODS = {
    "": "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero clone max",
    "other": "add sub mul div maximum minimum clamp_max clamp_min copy mm",
    "exponent": "pow",
    "tensors1 weight": "lerp",
    "tensor1 tensor2 value": "addcdiv addcmul",
}
"""Methods of tensors by the names of their operands: each operand is one for all tensors, or one of a list each."""
_ONLY_IN_PLACE = ("zero", "copy")
_NEVER_IN_PLACE = ("clone", "max", "mm")
_ALSO = {"other": ("scalar", "scalars", "src", "mat2"), "weight": ("weights",), "value": ("scalars",)}
"""What operands are called in further overloads."""
_FACTORS = ("value",)
"""Operands that methods take by name; a vector may hold one for each tensor."""
_OF_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Methods that take no number, and those that do the same with one."""
_IN_PLACE = {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}
"""Names that no method has, and those of methods that do the same."""


def _listed(tensors: Any) -> list[Any]:
    """The tensors that a call is about, of which there must be some."""
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _for_each(count: int, value: Any) -> list[Any]:
    """An operand of each of ``count`` tensors: the same for all, or one of a list each."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) == count:
        return list(value)
    if value and isinstance(value[0], TensorBase):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    raise RuntimeError(f"Tensor list must have same number of elements as scalar list: got {count} and {len(value)}.")


def _numbers_in(operand: str, scalars: Any) -> Any:
    """A tensor in place of numbers, which must be one or, of factors, stand in a vector; what else is unchanged."""
    if not isinstance(scalars, TensorBase):
        return scalars
    dims = scalars.dim()
    if operand in _FACTORS:
        if dims != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {dims} instead.")
        return scalars.tolist()
    if dims:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {dims} dimensions and {scalars.numel()} elements."
        )
    return scalars


def _as_first_factor(t: Any, number: Any) -> Any:
    """A number as PyTorch's C++ multiplies by it in place: as first factor, which is rounded to the tensor's dtype."""
    if not isinstance(number, float) or t._sig.kind != "f":
        return number
    with np.errstate(over="ignore"):
        return float(t._sig.numpy.type(number))


def _each(method: str, operands: tuple[str, ...]) -> Callable[..., Any]:
    """A method of every tensor of a list; in place the list itself is returned."""

    def one(t: Any, row: dict[str, Any], rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        number = "other" in row and not isinstance(row["other"], TensorBase)
        if number and method == "mul_":
            row = row | {"other": _as_first_factor(t, row["other"])}
        name = _IN_PLACE.get(method) or (_OF_NUMBERS.get(method, method) if number else method)
        placed = [value for operand, value in row.items() if operand not in _FACTORS]
        named = {operand: row[operand] for operand in _FACTORS if operand in row}
        return getattr(t, name)(*placed, *rest, **named, **kwargs)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = _listed(self)
        given = dict(zip(operands, args, strict=False))
        rest = args[len(given) :]
        given |= {name: kwargs.pop(name) for name in operands if name in kwargs}
        columns = [_for_each(len(tensors), _numbers_in(name, value)) for name, value in given.items()]
        rows = zip(tensors, *columns, strict=True)
        made = [one(t, dict(zip(given, row, strict=True)), rest, kwargs) for t, *row in rows]
        return self if method.endswith("_") else tuple(made)

    return call


def _publish(f: Callable[..., Any], method: str, operands: tuple[str, ...] = ()) -> None:
    f.__name__ = f.__qualname__ = name = "_foreach_" + method
    f.__doc__ = f"``{method}`` of every tensor of a list."
    FUNCTIONS[name] = called(f, name, False, {other: own for own in operands for other in _ALSO.get(own, ())})


def _foreach_pow(self: Any, exponent: Any) -> tuple[Any, ...]:
    """Powers of every tensor of a list, or of one number to all of them."""
    if isinstance(self, (list, tuple)):
        tensors = _listed(self)
        return tuple([t.pow(p) for t, p in zip(tensors, _for_each(len(tensors), exponent), strict=True)])
    return tuple([self**t for t in _listed(exponent)])


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:  # noqa: A002
    """The norm of all elements of every tensor of a list."""
    return tuple([t.norm(ord, dtype=dtype) for t in _listed(self)])


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:  # noqa: A002
    """The sum of powers of the absolute values of every tensor of a list."""
    return tuple([t.abs().pow(ord).sum(dtype=dtype) for t in _listed(self)])


for operands, names in _METHODS.items():
    for name in names.split():
        for form in [name] * (name not in _ONLY_IN_PLACE) + [name + "_"] * (name not in _NEVER_IN_PLACE):
            _publish(_each(form, tuple(operands.split())), form, tuple(operands.split()))
_publish(_foreach_pow, "pow")
_publish(_foreach_norm, "norm")
_publish(_foreach_powsum, "powsum")
