"""Names of dtypes in PyTorch's messages: its kernels, its compiler and c10 each have their own."""

from __future__ import annotations

from typing import Any

from .narrow import EIGHT_BITS

_SCALAR_NAMES = {
    "f2": "Half", "f4": "Float", "f8": "Double", "c8": "ComplexFloat", "c16": "ComplexDouble", "i1": "Char",
    "i2": "Short", "i4": "Int", "i8": "Long", "u1": "Byte", "b1": "Bool",
}  # fmt: skip
_NARROW_NAMES = {
    "bfloat16": "BFloat16",
    **{f"float8_{digits}": f"Float8_{digits}" for digits in EIGHT_BITS},
}


def scalar_name(dtype: Any) -> str:
    """What PyTorch's kernels call a NumPy dtype: ``Float``, ``Long``."""
    return _SCALAR_NAMES.get(dtype.str[1:]) or _NARROW_NAMES.get(dtype.name, str(dtype))


_C_NAMES = {"float32": "float", "float64": "double", "int32": "int", "bfloat16": "c10::BFloat16"}


def c_name(numpy: Any) -> str:
    """What messages that ask the compiler call a NumPy dtype: ``double``, ``long int``."""
    return {**_C_NAMES, "int64": "long int"}.get(numpy.name, str(numpy.name))


def c10_name(numpy: Any) -> str:
    """What c10 calls a NumPy dtype in messages about numbers that do not fit: ``c10::Half``, ``int64_t``."""
    return {**_C_NAMES, "float16": "c10::Half"}.get(numpy.name, f"{numpy.name}_t")
