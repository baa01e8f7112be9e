"""Data types under PyTorch's names, the NumPy dtype of each, and the default one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from . import narrow
from .narrow import kind_of
from .size import Size as Size  # pickles look for it in this module


class dtype:  # noqa: N801 - torch's name
    """A tensor's data type; ``np.dtype(dt)`` gives NumPy's."""

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

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def to_complex(self) -> dtype:
        """The complex type of the same precision."""
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
"""What Python's types stand for as ``dtype=``, whatever the default is."""

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
