"""Data types, and those that several operands are promoted to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from . import narrow
from .narrow import EIGHT_BITS, LOADED, is_eight_bits, kind_of, limits
from .size import Size as Size

# Data types, their names and their limits.

# Names of dtypes in PyTorch's messages: its kernels, its compiler and c10 each have their own.

_SCALAR_NAMES = {
    "f2": "Half", "f4": "Float", "f8": "Double", "c8": "ComplexFloat", "c16": "ComplexDouble", "i1": "Char",
    "i2": "Short", "i4": "Int", "i8": "Long", "u1": "Byte", "u2": "UInt16", "u4": "UInt32",
    "u8": "UInt64", "b1": "Bool",
}  # fmt: skip
_NARROW_NAMES = {
    "bfloat16": "BFloat16",
    **{f"float8_{digits}": f"Float8_{digits}" for digits in EIGHT_BITS},
}


def scalar_name(dtype: Any) -> str:
    """The name that PyTorch's kernels have for a NumPy dtype: ``Float``, ``Long``."""
    return _SCALAR_NAMES.get(dtype.str[1:]) or _NARROW_NAMES.get(dtype.name, str(dtype))


_C_NAMES = {"float32": "float", "float64": "double", "int32": "int", "bfloat16": "c10::BFloat16"}


def c_name(numpy: Any) -> str:
    """The C name of a NumPy dtype in messages: ``double``, ``long int``."""
    return {**_C_NAMES, "int64": "long int"}.get(numpy.name, str(numpy.name))


def c10_name(numpy: Any) -> str:
    """The c10 name of a NumPy dtype in messages about numbers that do not fit: ``c10::Half``, ``int64_t``."""
    return {**_C_NAMES, "float16": "c10::Half"}.get(numpy.name, f"{numpy.name}_t")


# Data types under PyTorch's names, the NumPy dtype of each, and the default one.


class dtype:  # noqa: N801 - torch's name
    """A tensor's data type; ``np.dtype(dt)`` converts it to NumPy's."""

    __module__ = "retrograd"
    __slots__ = ("dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "name")

    def __init__(self, name: str, numpy: Any) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(numpy)  # NumPy reads this attribute in np.dtype(...)
        kind = kind_of(self.dtype)
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc" and name != "float8_e8m0fnu"
        self.itemsize = self.dtype.itemsize

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self.dtype

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:  # by name, as in PyTorch: `retrograd.float32`
        return self.name

    def to_complex(self) -> dtype:
        """The complex type of the same precision; ``RuntimeError`` for a type that has none."""
        if not (self.is_complex or (self.is_floating_point and self.itemsize > 1)):
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(self.numpy)}")
        return {"float16": complex64, "bfloat16": complex64, "float32": complex64, "float64": complex128}.get(
            self.name, self
        )

    def to_real(self) -> dtype:
        """The real type of the same precision."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


float16: Final = dtype("float16", "f2")
float32: Final = dtype("float32", "f4")
float64: Final = dtype("float64", "f8")
complex64: Final = dtype("complex64", "c8")
complex128: Final = dtype("complex128", "c16")
int8: Final = dtype("int8", "i1")
int16: Final = dtype("int16", "i2")
int32: Final = dtype("int32", "i4")
int64: Final = dtype("int64", "i8")
uint8: Final = dtype("uint8", "u1")
uint16: Final = dtype("uint16", "u2")
uint32: Final = dtype("uint32", "u4")
uint64: Final = dtype("uint64", "u8")
bool_: Final = dtype("bool", "?")

ALL: Final = (
    float16, float32, float64, complex64, complex128,
    int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool_,
)  # fmt: skip
_BY_NUMPY: Final = {d.dtype: d for d in ALL}
_BY_NAME: Final = {d.name: d for d in ALL}
ALIASES: Final = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "short": int16, "int": int32, "long": int64, "bool": bool_,
}  # fmt: skip
PYTHON_TYPES: Final = {float: float64, int: int64, bool: bool_, complex: complex128}
"""The meaning of Python's types as ``dtype=``, whatever the default dtype is."""

_default: dtype = float32


def get_default_dtype() -> dtype:
    """The floating dtype that Python floats become."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Change the floating dtype that Python floats become; ``TypeError`` for any other dtype."""
    global _default
    if not (isinstance(d, dtype) and d.is_floating_point and d.itemsize > 1):
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d


def default_complex() -> dtype:
    """The complex dtype that Python complex numbers become."""
    return _default.to_complex()


def by_name(name: str) -> dtype:
    """The dtype with torch's name ``name``; those that NumPy has not are made when they are first asked for."""
    found = _BY_NAME.get(name)
    if found is None:
        if name not in narrow.NAMES:
            raise KeyError(name)
        found = _BY_NAME.setdefault(name, dtype(name, narrow.load(name)))
        _BY_NUMPY[found.dtype] = found
    return found


def dtype_of_type(kind: Any) -> dtype:
    """The dtype behind an old type string or class: ``"torch.DoubleTensor"``."""
    if isinstance(kind, dtype):
        return kind
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    name = text.removeprefix("torch.").removesuffix("Tensor").lower()
    names = {"byte": "uint8", "char": "int8", "": "float32"}
    name = names.get(name, name)
    return ALIASES[name] if name in ALIASES else by_name(name)


def from_numpy_dtype(d: np.dtype[Any]) -> dtype:
    """The dtype of a NumPy dtype; ``TypeError`` when PyTorch has none."""
    try:
        return _BY_NUMPY[d]
    except KeyError:
        if d.name in narrow.NAMES:
            return by_name(d.name)
        native = d.newbyteorder("=")
        if native in _BY_NUMPY:
            return _BY_NUMPY[native]
        raise TypeError(
            f"can't convert np.ndarray of type {d}. The only supported types are: "
            + ", ".join(x.name for x in ALL)
            + "."
        ) from None


def numpy_dtype_of(value: Any) -> np.dtype[Any]:
    """NumPy's dtype for the elements of a tensor or an array: rules are written for both."""
    dtype_: np.dtype[Any] = getattr(value.dtype, "numpy", value.dtype)
    return dtype_


def to_numpy_dtype(d: Any) -> np.dtype[Any]:
    """NumPy's dtype for a retrograd dtype (``TypeError`` for anything else)."""
    if isinstance(d, dtype):
        return d.dtype
    if isinstance(d, type) and d in PYTHON_TYPES:
        return PYTHON_TYPES[d].dtype
    raise TypeError(f"dtype must be a torch.dtype, not {type(d).__name__}; write for example dtype=torch.float32")


# `finfo` and `iinfo`: the limits of number types, as `torch` names them.


class finfo:  # noqa: N801  (torch's name)
    """Limits of a floating dtype: ``bits eps max min tiny smallest_normal resolution``."""

    __module__ = "retrograd"

    def __init__(self, type: dtype | None = None) -> None:  # noqa: A002
        kind = to_numpy_dtype(get_default_dtype() if type is None else type)
        if kind_of(kind) not in "fc":
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type}'")
        found = limits(kind)
        self.dtype = found.dtype.name
        self.bits = int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = 10.0 ** -int(found.nmant * math.log10(2))

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        limits = ", ".join(f"{name}={getattr(self, name):.6g}" for name in names)
        return f"finfo({limits}, dtype={self.dtype})"


class iinfo:  # noqa: N801  (torch's name)
    """Limits of an integer dtype: ``bits max min``."""

    __module__ = "retrograd"

    def __init__(self, type: dtype) -> None:  # noqa: A002
        if kind_of(type.numpy) not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        found = np.iinfo(type.numpy)
        self.dtype = type.numpy.name
        self.bits, self.max, self.min = int(found.bits), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


# PyTorch's type promotion on NumPy dtypes: the dtype in which several operands are computed.

_KIND_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_BARE_UNSIGNED: Final = frozenset(np.dtype(code) for code in ("u2", "u4", "u8"))
"""Unsigned integers that may be cast, but have no place among the others."""


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """PyTorch's promotion of two dtypes: the higher kind wins without widening."""
    if a is b or a == b:
        return a
    if is_eight_bits(a) or is_eight_bits(b):
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {scalar_name(a)} and {scalar_name(b)}"
        )
    rank_a, rank_b = _KIND_RANK[kind_of(a)], _KIND_RANK[kind_of(b)]
    if (a in _BARE_UNSIGNED or b in _BARE_UNSIGNED) and 2 not in (rank_a, rank_b):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{scalar_name(a)} and {scalar_name(b)}. Convert one of them with .to(dtype)"
        )
    if rank_a == rank_b:
        return _wider(a, b) if a in LOADED or b in LOADED else np.promote_types(a, b)
    low, high = (a, b) if rank_a < rank_b else (b, a)
    if kind_of(low) == "f":  # float with complex: complex128 for double only
        return complex128.dtype if low.itemsize == 8 else high
    return high


def _wider(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that takes in two floating ones, of which NumPy does not know one."""
    return np.dtype(np.float32) if a.itemsize == b.itemsize else max(a, b, key=lambda numpy: numpy.itemsize)


def is_castable(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """Whether a result of one dtype may be written in another: never in a lower kind."""
    return _KIND_RANK[kind_of(have)] <= _KIND_RANK[kind_of(want)]


def scalar_dtype(value: Any) -> np.dtype[Any]:
    """The dtype a Python number brings into a promotion."""
    if isinstance(value, bool):
        return bool_.dtype
    if isinstance(value, int):
        return int64.dtype
    if isinstance(value, complex):
        return default_complex().dtype
    return get_default_dtype().dtype


_COMPLEX_OF: Final = {2: complex64.dtype, 4: complex64.dtype, 8: complex128.dtype}


def result_dtype(
    dimensioned: Iterable[np.dtype[Any]], zero_dim: Iterable[np.dtype[Any]], numbers: Iterable[Any]
) -> np.dtype[Any]:
    """PyTorch's common dtype: tensors with dimensions count first, then 0-d tensors, then Python numbers.

    A lower group only changes the result when its kind (bool < integer < float < complex) is higher.
    """
    result: np.dtype[Any] | None = None
    groups = (dimensioned, zero_dim, (scalar_dtype(n) for n in numbers))
    for group in groups:
        found: np.dtype[Any] | None = None
        for d in group:
            found = d if found is None else promote_types(found, d)
        if found is None:
            continue
        if result is None:
            result = found
        elif _KIND_RANK[kind_of(found)] > _KIND_RANK[kind_of(result)]:
            # a float keeps its precision when it becomes complex
            result = _COMPLEX_OF[result.itemsize] if kind_of(result) == "f" else promote_types(result, found)
    return result if result is not None else get_default_dtype().dtype
