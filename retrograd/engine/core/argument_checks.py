"""Checks of arguments, and Python numbers as operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TensorBase
from .dtypes import c10_name, scalar_name
from .narrow import kind_of, limits
from .sig import Sig

# Refuses arguments of the wrong type, with PyTorch's messages.

_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: the class was made while Python runs."""


def type_name_of(value: Any) -> str:
    """The name of an argument's type in error messages; classes written in C (NumPy's) have their module's before."""
    cls = type(value)
    if isinstance(value, TensorBase):
        return "Tensor"
    in_c = not cls.__flags__ & _HEAP and cls.__module__ != "builtins"
    return f"{cls.__module__}.{cls.__qualname__}" if in_c else cls.__name__


def type_names(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The types of the arguments of a call in error messages: ``Tensor, dim=int``."""
    return ", ".join([*map(type_name_of, args), *(f"{name}={type_name_of(v)}" for name, v in kwargs.items())])


def check_bool(function: str, name: str, value: Any, position: int | None = None) -> None:
    """``TypeError`` in torch's words for an argument that must be a bool; ``position`` counts from 1."""
    if not isinstance(value, bool):
        place = "" if position is None else f" (position {position})"
        raise TypeError(f"{function}(): argument '{name}'{place} must be bool, not {type_name_of(value)}")


def check_scalar_type(found: np.dtype[Any], wanted: np.dtype[Any] | type[np.generic]) -> None:
    """``RuntimeError`` in torch's words for a tensor of another dtype than its place asks for."""
    if found != wanted:
        raise RuntimeError(f"expected scalar type {scalar_name(np.dtype(wanted))} but found {scalar_name(found)}")


def refuse_pinned(name: str, asked: Any) -> None:
    """``RuntimeError`` where pinned memory is asked for, which is an accelerator's; ``TypeError`` for a non-bool."""
    check_bool(name, "pin_memory", asked)
    raise RuntimeError(
        "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
        "this system."
    )


def refuse_other_device(asked: Any) -> None:
    """``RuntimeError`` where an old constructor is asked for memory that is not the CPU's."""
    kind = str(asked).partition(":")[0]
    if kind not in ("None", "cpu"):
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed")


def refuse_named(function: str, named: dict[str, Any], expected: str) -> None:
    """``TypeError`` in torch's words for arguments by names that a function does not know."""
    if named:
        got = ", ".join(f"{key}={type_name_of(value)}" for key, value in named.items())
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got ({got}), but expected {expected}"
        )


# Python numbers as operands: each becomes a cached 0-d array.

_MOST = 50_000
"""How many numbers of one dtype are cached; others are converted each time."""


class Number:
    """A Python number as operand of a tensor of some real dtype: ``_array`` as in tensors, never with history."""

    __slots__ = ("_array", "value")
    _fn = None
    _meta = None

    def __init__(self, value: Any, array: Any) -> None:
        self.value = value
        self._array = array


def fits_64_bits(value: int) -> bool:
    """Whether an integer has at most 64 bits, with a sign or without."""
    return -(1 << 63) <= value < 1 << 64


def check_width(value: int) -> None:
    """``OverflowError`` for an integer of more than 64 bits, which PyTorch's functions take nowhere."""
    if not fits_64_bits(value):
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def number_operand(sig: Sig, value: Any) -> Number | None:
    """The number as an operand; ``None`` where NumPy needs the number itself."""
    known = sig.floats if value.__class__ is float else sig.ints
    if known is None or (value.__class__ is int and not fits_64_bits(value)):
        return None  # (the general path refuses what has more bits than an integer)
    try:
        with np.errstate(all="ignore"):
            made = Number(value, np.array(value, sig.numpy))
    except OverflowError:
        return None
    # 0.0 and -0.0 are the same key, and no NaN is: these are made each time
    if len(known) < _MOST and value == value and (value != 0 or value.__class__ is int):
        known[value] = made
    return made


def checked_number(value: Any, numpy: Any) -> Any:
    """A number that a dtype can hold; ``RuntimeError`` in torch's words for others.

    Fractions lose what is behind the point, negative numbers wrap around in unsigned dtypes, infinities and NaN have
    no place among integers, and a complex number must have no imaginary part to become a real one.
    """
    kind = kind_of(numpy)
    if kind in "cb" or (kind == "f" and _fits_halves(value)):
        return value
    if isinstance(value, (complex, np.complexfloating)):
        value = value.real if value.imag == 0 else None
    if value is None or not _fits(value, numpy):
        raise RuntimeError(f"value cannot be converted to type {c10_name(numpy)} without overflow")
    if kind == "f":
        return value
    return int(value) % (1 << 8 * numpy.itemsize) if kind == "u" else int(value)


_HALF_MAX = 65504.0


def _fits_halves(value: Any) -> bool:
    """Whether all floating dtypes can hold a number, since the shortest can: to look up its limits takes 2 µs."""
    return value.__class__ in (float, int) and -_HALF_MAX <= value <= _HALF_MAX


def held(value: Any, numpy: Any) -> Any:
    """A number as a dtype has it; ``RuntimeError`` in torch's words where it is too large for a floating one."""
    if kind_of(numpy) != "f" or _fits_halves(value):
        return numpy.type(value)
    return numpy.type(checked_number(value, numpy))


def check_whole(operand: Any, *numbers: Any) -> None:
    """``RuntimeError`` for whole numbers that a tensor of whole numbers cannot hold."""
    sig = getattr(operand, "_sig", None)
    if sig is not None and sig.kind in "iu":
        for number in numbers:
            if number.__class__ is int:
                checked_number(number, sig.numpy)


def real_number(value: Any) -> Any:
    """A number for a parameter that must be real; ``RuntimeError`` in torch's words if it has an imaginary part."""
    if isinstance(value, (complex, np.complexfloating)):
        return checked_number(value, _DOUBLE)
    return value


def real_argument(function: str, name: str, position: int, value: Any) -> Any:
    """A number that PyTorch's function takes as float; ``TypeError`` in torch's words for a complex one."""
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be float, not complex")
    return value


_DOUBLE = np.dtype(np.float64)


def _fits(value: Any, numpy: Any) -> bool:
    if kind_of(numpy) == "f":
        return not np.isfinite(value) or abs(value) <= float(limits(numpy).max)
    whole = np.iinfo(numpy)
    least = -whole.max if numpy.kind == "u" else whole.min
    return bool(np.isfinite(value)) and least <= int(value) <= whole.max
