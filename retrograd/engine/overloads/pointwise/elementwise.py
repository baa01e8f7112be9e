"""Element-wise functions whose torch form has overloads: an operand may be a number, or has another name."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ...aliasing.inplace import call_inplace
from ...calls.promotion import cast
from ...return_types import named
from ...table.public import METHODS, check_tensor, public
from ...table.registry import OPS, F
from ...tensors.base import TensorBase
from ...tensors.dtypes import c10_name
from ...tensors.numbers_ import checked_number
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
        if other.__class__ is (1j).__class__ or (isinstance(input, TensorBase) and input._sig.numpy.kind == "c"):
            raise NotImplementedError("clamp is not supported for complex types")
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
    if input._sig.numpy.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._sig.numpy != values._sig.numpy:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return F._heaviside(input, values)


@public("heaviside_", function=False)
def heaviside_(self: Any, values: Any) -> Any:
    """In-place heaviside."""
    return call_inplace(OPS["_heaviside"], (self, values), {})


# -- powers in double precision


def _needs_complex(*values: Any) -> bool:
    return any(
        v._sig.numpy.kind == "c" if isinstance(v, TensorBase) else isinstance(v, builtins.complex) for v in values
    )


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


# -- three operands


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
    if isinstance(weight, TensorBase) and not weight.ndim and (ours.kind == "c" or weight._sig.numpy.kind != "c"):
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
    if name == "addcdiv" and not any(t._sig.numpy.kind in "fc" for t in operands[1:]):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use (input + value * torch.trunc(tensor1 / tensor2))"
            " or convert to a floating dtype first"
        )


_fused("addcmul")
_fused("addcdiv")

# -- rounding and parts


def _round_call(input: Any, decimals: int | None) -> tuple[Any, tuple[Any, ...]]:  # noqa: A002
    return (OPS["_round"], (input,)) if decimals is None else (OPS["_round_decimals"], (input, decimals))


def round(input: Any, *, decimals: int | None = None) -> Any:  # noqa: A001, A002
    """Nearest integer (halves to even), or nearest multiple of ``10 ** -decimals``."""
    check_tensor("round", input)
    row, args = _round_call(input, decimals)
    return row(*args)


def round_(self: Any, *, decimals: int | None = None) -> Any:
    """In-place rounding."""
    row, args = _round_call(self, decimals)
    return call_inplace(row, args, {})


def _special_round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A002
    """Nearest multiple of ``10 ** -decimals``."""
    return round(input, decimals=decimals)


public("round", out=True)(round)
public("round", out=True, namespace="special")(_special_round)
public("round_")(round_)


@public("frexp", out=True)
def frexp(input: Any) -> Any:  # noqa: A002
    """Mantissa in ``[0.5, 1)`` and int32 exponent with ``input = mantissa * 2 ** exponent``."""
    check_tensor("frexp", input)
    if input._sig.numpy.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return named("frexp", *F._frexp(input))


@public("complex", method=False, out=True)
def complex(real: Any, imag: Any) -> Any:  # noqa: A001
    """Complex tensor from its real and imaginary part."""
    _check_parts("complex", real, imag, ("real", "imag"))
    return F._complex(real, imag)


def _check_parts(name: str, first: Any, second: Any, names: tuple[str, str]) -> None:
    check_tensor(name, first, name=names[0])
    check_tensor(name, second, 2, names[1])
    a, b = first._sig.numpy, second._sig.numpy
    if a.kind != "f" or b.kind != "f":
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {first.dtype} and {second.dtype}"
        )
    if a != b:
        raise RuntimeError(
            f"Expected object of scalar type {first.dtype} but got scalar type {second.dtype} for second argument"
        )


@public("polar", method=False, out=True)
def polar(abs: Any, angle: Any) -> Any:  # noqa: A002
    """Complex tensor from absolute value and angle."""
    _check_parts("polar", abs, angle, ("abs", "angle"))
    return F._polar(abs, angle)


def _same(name: str, doc: str) -> None:
    def call(input: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        return input

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    public(name)(call)


@public("masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:  # noqa: A002
    """``input`` with ``value`` (a number or a 0-d tensor) where ``mask``."""
    check_tensor("masked_fill", input)
    return OPS[_fill_row(input, mask, value)](input, mask, _filling(input, value))


def _fill_row(self: Any, mask: Any, value: Any) -> str:
    if mask._sig.numpy.kind != "b":
        raise RuntimeError(f"masked_fill only supports boolean masks, but got mask with dtype {mask.dtype}")
    if not isinstance(value, TensorBase):
        return "masked_fill"
    if value.ndim:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value._sig.numpy.kind == "c" != self._sig.numpy.kind and value._array.imag:
        raise RuntimeError(f"value cannot be converted to type {c10_name(self._sig.numpy)} without overflow")
    return "_masked_fill_tensor"


def _filling(self: Any, value: Any) -> Any:
    return value if isinstance(value, TensorBase) else checked_number(value, self._sig.numpy)


@public("masked_fill_", function=False)
def masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """In-place masked fill."""
    return call_inplace(OPS[_fill_row(self, mask, value)], (self, mask, _filling(self, value)), {})


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
    if self._sig.numpy.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return call_inplace(OPS["abs"], (self,), {})
