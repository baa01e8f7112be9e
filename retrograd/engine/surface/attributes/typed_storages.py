"""Typed storages, the deprecated kind: the memory under tensors as items of a dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...core.dtypes import ALIASES, by_name, from_numpy_dtype, get_default_dtype
from ...core.narrow import cast
from ...deprecations import discourage
from ...table.public import FUNCTIONS, public
from .storages import UntypedStorage, flat_memory, items_of_buffer, memory_at

_LEGACY_NAMES: Final = {
    "half": "Half", "float": "Float", "double": "Double", "char": "Char", "short": "Short", "int": "Int",
    "long": "Long", "byte": "Byte", "bool": "Bool", "bfloat16": "BFloat16", "complex_float": "ComplexFloat",
    "complex_double": "ComplexDouble",
}  # fmt: skip
_DTYPES: Final = {"byte": "uint8", "char": "int8", "complex_float": "complex64", "complex_double": "complex128"}
_FORMS: Final = (
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
)
_LEGACY_FORMS: Final = " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)"


def _named(name: str) -> Any:
    """The dtype of one of the older names."""
    name = _DTYPES.get(name, name)
    return ALIASES[name] if name in ALIASES else by_name(name)


class TypedStorage:
    """The elements under a tensor, shared with all its views."""

    __module__ = "retrograd.storage"

    is_sparse = False
    is_cuda = is_hpu = False
    _untyped_storage: UntypedStorage
    dtype: Any

    def __init__(self, *data: Any, dtype: Any = None, wrap_storage: Any = None, device: Any = None) -> None:
        discourage("TypedStorage")
        said = f"TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n{_FORMS}"
        _check_arguments(said, data, wrap_storage)
        if wrap_storage is not None:
            if dtype is None:
                raise RuntimeError(f"{said}\nArgument 'dtype' must be specified")
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = get_default_dtype() if dtype is None else dtype
        given = data[0] if data else 0
        numpy = self.dtype.numpy
        memory = np.zeros(given, numpy) if isinstance(given, int) else cast(np.array(given), numpy)
        self._untyped_storage = UntypedStorage.of(memory)

    @classmethod
    def over(cls, memory: Any) -> Any:
        """The storage of a flat array."""
        return cls.on(UntypedStorage.of(memory), from_numpy_dtype(memory.dtype))

    @classmethod
    def on(cls, storage: UntypedStorage, dtype: Any) -> Any:
        """The bytes of a storage as items of a dtype."""
        made = cls.__new__(cls)
        made.dtype, made._untyped_storage = dtype, storage
        return made

    def _items(self) -> Any:
        return memory_at(self._untyped_storage, self.dtype.numpy)

    @property
    def _dtype(self) -> Any:
        return self.dtype

    @property
    def device(self) -> Any:
        """Where it lies."""
        return self._untyped_storage.device

    @property
    def filename(self) -> str | None:
        """The file that it is mapped from."""
        return self._untyped_storage.filename

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        discourage("TypedStorage")
        return self._untyped_storage

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._untyped_storage.nbytes()

    def __len__(self) -> int:
        return self.nbytes() // self.element_size()

    def size(self) -> int:
        """Number of items."""
        return len(self)

    def element_size(self) -> int:
        """Bytes per item."""
        return int(self.dtype.itemsize)

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return self._untyped_storage.data_ptr()

    def get_device(self) -> None:
        """The number of the device: the CPU has none."""

    def tolist(self) -> list[Any]:
        """The items as Python numbers."""
        values: list[Any] = self._items().tolist()
        return values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        return self._write(slice(None), value, "fill_")

    def _write(self, place: Any, value: Any, method: str) -> Any:
        self._items()[place] = value
        self._untyped_storage._wrote(method)
        return self

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._check_place(place)
        return self._items()[place].item()

    def __setitem__(self, place: Any, value: Any) -> None:
        if not isinstance(place, slice):
            self._check_place(place)
        self._write(place, value, "setitem")

    def _check_place(self, place: Any) -> None:
        if not isinstance(place, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(place)}")
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} out of range for storage of size {len(self)}")

    def copy_(self, source: Any, non_blocking: Any = None) -> Any:
        """Write the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source)
        return self

    def clone(self) -> Any:
        """The same items in memory of their own."""
        return self.on(self._untyped_storage.clone(), self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return self.on(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __reduce__(self) -> Any:
        return _from_bytes, (self.dtype, self._items().tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and (self._cdata, self.dtype) == (other._cdata, other.dtype)

    def __hash__(self) -> int:
        return hash((self._cdata, str(self.dtype)))

    def resize_(self, size: int) -> Any:
        """Another number of items."""
        self._untyped_storage.resize_(size * self.element_size())
        return self

    def resizable(self) -> bool:
        """Whether the size may change."""
        return self._untyped_storage.resizable()

    def cpu(self) -> Any:
        """Itself."""
        return self

    def is_shared(self) -> bool:
        """Whether forked processes see it."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> Any:
        """Move it to memory that forked processes see."""
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether a device copies from it directly: no."""
        return False

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """What it is called; with a dtype, or another such name, a copy as that."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        legacy: Any = FUNCTIONS[dtype.rpartition(".")[2]] if isinstance(dtype, str) else None
        wanted = dtype if legacy is None else legacy.dtype
        return TypedStorage.over(cast(self._items(), wanted.numpy).copy())

    def pickle_storage_type(self) -> str:
        """What PyTorch calls storages of this dtype."""
        for name, legacy in _LEGACY_NAMES.items():
            if (name != "bfloat16" or self.dtype.name == name) and _named(name) == self.dtype:
                return f"{legacy}Storage"
        raise KeyError(f"dtype {self.dtype} is not recognized")

    def __repr__(self) -> str:
        shown = "".join(f" {value}\n" for value in self.tolist())
        return f"{shown}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _from_bytes(dtype: Any, data: bytes) -> TypedStorage:
    made: TypedStorage = TypedStorage.over(np.frombuffer(bytearray(data), np.uint8).view(dtype.numpy).copy())
    return made


def _check_arguments(said: str, data: tuple[Any, ...], wrapped: Any) -> None:
    """Refuse what no form of a storage's class takes."""
    if wrapped is not None:
        if data:
            raise RuntimeError(f"{said}\nNo positional arguments should be given when using 'wrap_storage'")
        if not isinstance(wrapped, UntypedStorage):
            raise TypeError(f"{said}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}")
    elif len(data) > 1:
        raise RuntimeError(f"{said}\nToo many positional arguments")
    elif data and not isinstance(data[0], (int, Sequence)):
        raise TypeError(f"{said}\nArgument type not recognized: {type(data[0])}")


def _conversion(name: str) -> Any:
    def converted(self: Any) -> Any:
        items = self._bytes() if isinstance(self, UntypedStorage) else self._items()
        return TypedStorage.over(cast(items, _named(name).numpy).copy())

    converted.__name__ = name
    converted.__doc__ = f"The items as {name}, in a storage of their own."
    return converted


for _name in _LEGACY_NAMES:
    for _class in (UntypedStorage, TypedStorage):
        setattr(_class, _name, _conversion(_name))


class _Legacy(type):
    """Every storage of the dtype counts as an instance, although the class makes those of ``TypedStorage``."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TypedStorage) and value.dtype == cls.dtype

    def __call__(cls, *data: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> Any:
        said = f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n{_LEGACY_FORMS}"
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{said}\nKeyword argument '{name}' cannot be specified")
        _check_arguments(said, data, wrap_storage)
        return TypedStorage(*data, dtype=cls.dtype, wrap_storage=wrap_storage)

    @property
    def dtype(cls) -> Any:
        """The dtype of its items."""
        return _named(cls.spoken)  # type: ignore[attr-defined]

    def from_buffer(cls, buffer: Any, byte_order: str = "native", **how: Any) -> Any:
        """A copy of the items in a buffer."""
        return TypedStorage.over(items_of_buffer(buffer, byte_order, cls.dtype.numpy))

    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Any:
        """The items in a file."""
        storage = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype)


public("TypedStorage", method=False)(TypedStorage)
for _name, _legacy in _LEGACY_NAMES.items():
    _facts = {"spoken": _name, "__doc__": f"Storages of {_name}.", "__module__": "retrograd"}
    public(f"{_legacy}Storage", method=False)(_Legacy(f"{_legacy}Storage", (), _facts))
public("Storage", method=False)(FUNCTIONS["FloatStorage"])


@public("storage", function=False)
def storage(self: Any) -> TypedStorage:
    """The elements under this tensor."""
    discourage("TypedStorage")
    found: TypedStorage = typed_storage(self)
    return found


@public("_typed_storage", function=False)
def typed_storage(self: Any) -> TypedStorage:
    """The elements under this tensor, for those who know what they ask for."""
    under: UntypedStorage = UntypedStorage.of(flat_memory(self))
    made: TypedStorage = TypedStorage.on(under, self.dtype)
    return made


@public("storage_type", function=False)
def storage_type(self: Any) -> Any:
    """The class of storages of this tensor's dtype."""
    return FUNCTIONS[typed_storage(self).pickle_storage_type()]
