"""Data types and sizes as PyTorch names them, its promotion rules on NumPy dtypes, and interned pairs of both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np


class dtype:  # noqa: N801 - torch's name
    """A tensor's data type; ``np.dtype(dt)`` gives NumPy's."""

    __slots__ = ("dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "name")

    def __init__(self, name: str, numpy_name: str) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(numpy_name)  # NumPy reads this attribute in np.dtype(...)
        self.is_floating_point = self.dtype.kind == "f"
        self.is_complex = self.dtype.kind == "c"
        self.is_signed = self.dtype.kind in "ifc"
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
        return {"float16": complex64, "float32": complex64, "float64": complex128}.get(self.name, self)

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
    if not (isinstance(d, dtype) and d.is_floating_point):
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d


def default_complex() -> dtype:
    """The complex dtype that Python complex numbers become."""
    return _default.to_complex()


def by_name(name: str) -> dtype:
    """The dtype with torch's name ``name``."""
    return _BY_NAME[name]


def from_numpy_dtype(d: np.dtype[Any]) -> dtype:
    """The dtype of a NumPy dtype; ``TypeError`` when PyTorch has none."""
    try:
        return _BY_NUMPY[d]
    except KeyError:
        native = d.newbyteorder("=")
        if native in _BY_NUMPY:
            return _BY_NUMPY[native]
        raise TypeError(
            f"can't convert np.ndarray of type {d}. The only supported types are: "
            + ", ".join(x.name for x in ALL)
            + "."
        ) from None


def to_numpy_dtype(d: Any) -> np.dtype[Any]:
    """NumPy's dtype for a retrograd dtype (``TypeError`` for anything else)."""
    if isinstance(d, dtype):
        return d.dtype
    if isinstance(d, type) and d in PYTHON_TYPES:
        return PYTHON_TYPES[d].dtype
    raise TypeError(f"dtype must be a torch.dtype, not {type(d).__name__}; write for example dtype=torch.float32")


_KIND_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """PyTorch's promotion of two dtypes: the higher kind wins without widening."""
    if a is b or a == b:
        return a
    rank_a, rank_b = _KIND_RANK[a.kind], _KIND_RANK[b.kind]
    if rank_a == rank_b:
        return np.promote_types(a, b)
    low, high = (a, b) if rank_a < rank_b else (b, a)
    if low.kind == "f":  # float with complex: complex128 for double only
        return complex128.dtype if low.itemsize == 8 else high
    return high


def is_castable(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """Whether a result of one dtype may be written in another: never in a lower kind."""
    return _KIND_RANK[have.kind] <= _KIND_RANK[want.kind]


def scalar_dtype(value: Any) -> np.dtype[Any]:
    """The dtype a Python number brings into a promotion."""
    if isinstance(value, bool):
        return bool_.dtype
    if isinstance(value, int):
        return int64.dtype
    if isinstance(value, complex):
        return default_complex().dtype
    return _default.dtype


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
        elif _KIND_RANK[found.kind] > _KIND_RANK[result.kind]:
            # a float keeps its precision when it becomes complex
            result = _COMPLEX_OF[result.itemsize] if result.kind == "f" else promote_types(result, found)
    return result if result is not None else _default.dtype


class Size(tuple[int, ...]):
    """A tensor's shape, printed as ``torch.Size([2, 3])``."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        n = 1
        for s in self:
            n *= s
        return n

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, i: Any) -> Any:
        r = tuple.__getitem__(self, i)
        return Size(r) if isinstance(i, slice) else r

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))


_SCALAR_NAMES = {
    "f2": "Half", "f4": "Float", "f8": "Double", "c8": "ComplexFloat", "c16": "ComplexDouble", "i1": "Char",
    "i2": "Short", "i4": "Int", "i8": "Long", "u1": "Byte", "b1": "Bool",
}  # fmt: skip


def scalar_name(dtype: Any) -> str:
    """What PyTorch's kernels call a NumPy dtype: ``Float``, ``Long``."""
    return _SCALAR_NAMES.get(dtype.str[1:], str(dtype))


_C_NAMES = {"float32": "float", "float64": "double", "int32": "int"}


def c_name(numpy: Any) -> str:
    """What messages that ask the compiler call a NumPy dtype: ``double``, ``long int``."""
    return {**_C_NAMES, "int64": "long int"}.get(numpy.name, str(numpy.name))


def c10_name(numpy: Any) -> str:
    """What c10 calls a NumPy dtype in messages about numbers that do not fit: ``c10::Half``, ``int64_t``."""
    return {**_C_NAMES, "float16": "c10::Half"}.get(numpy.name, f"{numpy.name}_t")


class Sig:
    """An interned (shape, dtype) pair, so that "same shape and dtype" is an identity test."""

    __slots__ = ("alone", "by_shape", "differentiable", "floats", "ints", "numpy", "shape")

    def __init__(self, shape: tuple[int, ...], numpy: np.dtype[Any], by_shape: dict[tuple[int, ...], Sig]) -> None:
        self.shape = Size(shape)
        self.by_shape = by_shape
        """The known ones of this dtype; looked up here, that of a result takes 0.1 µs instead of 0.3."""
        self.numpy = numpy
        self.differentiable = numpy.kind in "fc"
        self.alone = (self,)
        """What a node with one output has as ``_sigs``: one object for all, so that "fits" is an identity test."""
        self.floats, self.ints = _numbers_of(numpy)

    @property
    def dtype(self) -> dtype:
        """The torch-shaped dtype."""
        return from_numpy_dtype(self.numpy)


Numbers = dict[Any, Any]
_numbers: dict[np.dtype[Any], tuple[Numbers, Numbers]] = {}


def _numbers_of(numpy: np.dtype[Any]) -> tuple[Numbers | None, Numbers | None]:
    """The Python floats and integers met beside tensors of a dtype, as arrays; ``None`` unless it is real."""
    return _numbers.setdefault(numpy, ({}, {})) if numpy.kind == "f" else (None, None)


_sigs: dict[np.dtype[Any], dict[tuple[int, ...], Sig]] = {}
_MAX_SIGS: Final = 100_000


def sig_of(array: np.ndarray[Any, Any]) -> Sig:
    """The interned signature of an array."""
    try:
        return _sigs[array.dtype][array.shape]
    except KeyError:
        return intern_sig(array.shape, array.dtype)


def intern_sig(shape: tuple[int, ...], numpy: np.dtype[Any]) -> Sig:
    """The signature for a shape and dtype; forgetting old ones only costs speed, never correctness."""
    known = _sigs.get(numpy)
    if known is None:
        from_numpy_dtype(numpy)
        known = _sigs.setdefault(numpy, {})
    found = known.get(shape)
    if found is None:
        if len(known) >= _MAX_SIGS:
            known.clear()
        found = known[shape] = Sig(shape, numpy, known)
    return found
