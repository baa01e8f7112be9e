"""Functions of two operands, one of which may be a number."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ....aliasing.inplace import call_inplace
from ....table.public import METHODS, check_tensor, public
from ....table.registry import OPS, F
from ....tensors.base import TensorBase
from ....tensors.numbers_ import check_whole, checked_number
from .arithmetic import binary_method, gives_way, left_to_numpy, operand_of

Choice = Callable[[Any, Any], str]


def two_operands(
    name: str, choose: Choice, *, parameter: str = "other", inplace: bool = True, namespaces: tuple[str, ...] = ("",)
) -> Callable[..., Any]:
    """Publish ``name(input, other)``; ``choose`` names the row for the operands at hand."""

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        other = _second(name, parameter, args, kwargs)
        if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
            check_tensor(name, input)
        return OPS[choose(input, other)](operand_of(input), operand_of(other))

    def call_in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
        other = _second(name, parameter, args, kwargs)
        return call_inplace(OPS[choose(self, other)], (self, operand_of(other)), {})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Element-wise {name}; one operand may be a number."
    call_in_place.__name__ = call_in_place.__qualname__ = name + "_"
    for namespace in namespaces:
        public(name, out=True, namespace=namespace or None)(call)
    if inplace:
        public(name + "_", function=name in ("xlogy", "clamp_min", "clamp_max"))(call_in_place)
    return call


def _second(name: str, parameter: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) + len(kwargs) != 1:
        raise TypeError(f"{name}() takes exactly 2 arguments ({1 + len(args) + len(kwargs)} given)")
    if kwargs and parameter not in kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
    other = args[0] if args else kwargs[parameter]
    if not isinstance(other, (TensorBase, int, float, builtins.complex, np.number, np.bool_)):
        raise TypeError(f"{name}(): argument '{parameter}' must be Tensor or Number, not {type(other).__name__}")
    return other


def _by_other(tensor_row: str, number_row: str) -> Choice:
    return lambda input, other: tensor_row if isinstance(other, TensorBase) else number_row  # noqa: A006


two_operands("fmod", _by_other("_fmod_tensor", "_fmod_number"))
two_operands("copysign", _by_other("_copysign_tensor", "_copysign_number"))


def _bound(tensor_row: str, number_row: str) -> Choice:
    def choose(input: Any, other: Any) -> str:  # noqa: A002
        if isinstance(other, TensorBase):
            return tensor_row
        if other.__class__ is (1j).__class__ or (isinstance(input, TensorBase) and input._sig.kind == "c"):
            raise NotImplementedError("clamp is not supported for complex types")
        check_whole(input, other)
        if isinstance(input, TensorBase) and input._sig.kind == "f":
            checked_number(other, input._sig.numpy)
        return number_row

    return choose


two_operands("clamp_min", _bound("_clamp_min_tensor", "_clamp_min"), parameter="min")
two_operands("clamp_max", _bound("_clamp_max_tensor", "_clamp_max"), parameter="max")
remainder = two_operands("remainder", _by_other("remainder", "_remainder_number"))
METHODS["__mod__"] = binary_method(remainder, left_to_numpy("mod"))
METHODS["__imod__"] = binary_method(METHODS["remainder_"], gives_way)


def _by_either(row: str) -> Choice:
    def choose(input: Any, other: Any) -> str:  # noqa: A002
        if not isinstance(input, TensorBase):
            return row + "_self_number"
        return row if isinstance(other, TensorBase) else row + "_other_number"

    return choose


two_operands("xlogy", _by_either("_xlogy"), namespaces=("", "special"))
two_operands("xlog1py", _by_either("_xlog1py"), inplace=False, namespaces=("special",))


@public("heaviside", out=True)
def heaviside(input: Any, values: Any) -> Any:  # noqa: A002
    """0 where ``input < 0``, ``values`` where it is 0, 1 where it is above."""
    check_tensor("heaviside", input)
    check_tensor("heaviside", values, 2, "values")
    if input._sig.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._sig.numpy != values._sig.numpy:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return F._heaviside(input, values)


@public("heaviside_", function=False)
def heaviside_(self: Any, values: Any) -> Any:
    """In-place heaviside."""
    return call_inplace(OPS["_heaviside"], (self, values), {})
