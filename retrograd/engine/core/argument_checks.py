"""Refuses arguments of the wrong type, with PyTorch's messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import TensorBase
from .dtypes import scalar_name

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
