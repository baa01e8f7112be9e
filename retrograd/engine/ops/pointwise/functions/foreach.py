"""``_foreach_*``: one operator on every tensor of a list; each records as it would alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....calls.wrappers import called
from ....table.public import FUNCTIONS
from ....tensors.base import TensorBase

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


def _each(method: str, operands: tuple[str, ...]) -> Callable[..., Any]:
    """A method of every tensor of a list; in place the list itself is returned."""

    def one(t: Any, row: dict[str, Any], rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        number = "other" in row and not isinstance(row["other"], TensorBase)
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
