"""Storages as objects: the memory under tensors as bytes, or as elements of a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import observe
from ...aliasing.shared_memory import is_in_shared_memory
from ...aliasing.strided import Geometry, address, root_array, strided
from ...deprecations import discourage
from ...table.public import FUNCTIONS, public
from ...tensors.base import TensorBase
from ...tensors.devices import CPU
from ...tensors.dtypes import from_numpy_dtype


def flat_memory(t: TensorBase) -> Any:
    """All elements of a tensor's storage in one dimension."""
    root = root_array(t)
    return strided(root, (Geometry.of(root, 0).extent(),), (1,), 0)


class UntypedStorage:
    """The bytes under a tensor, shared with all its views; ``UntypedStorage(n)`` are ``n`` bytes of their own."""

    __module__ = "retrograd.storage"

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False
    alone = False
    """Whether no tensor can lie in the memory, so that it may be exchanged."""

    def __init__(self, *data: Any, device: Any = None) -> None:
        if len(data) > 1:
            raise TypeError("torch.UntypedStorage() received an invalid combination of arguments: a size or a sequence")
        self.alone = True
        given = data[0] if data else 0
        if isinstance(given, str) or not all(isinstance(n, int) for n in (given if np.iterable(given) else [given])):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), but "
                "one of the items is no int"
            )
        self._memory = np.zeros(given, np.uint8) if isinstance(given, int) else np.array(given, np.uint8)

    @classmethod
    def of(cls, memory: Any) -> Any:
        """The storage of a flat array."""
        made = cls.__new__(cls)
        made._memory = memory
        return made

    def _items(self) -> Any:
        return self._memory.view(np.uint8)

    @property
    def device(self) -> Any:
        """Always the CPU."""
        return CPU

    def get_device(self) -> None:
        """The number of the device: the CPU has none."""

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def __eq__(self, other: object) -> bool:
        """Whether it is the same memory (in PyTorch the same object, of which there is one for each memory)."""
        if type(self) is not type(other) or not isinstance(other, UntypedStorage):
            return False
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return address(self._memory) if self._memory.size else 0

    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self._memory.nbytes)

    def size(self) -> int:
        """Number of items."""
        return len(self)

    def element_size(self) -> int:
        """Bytes per item."""
        return int(self._items().itemsize)

    def tolist(self) -> list[Any]:
        """The items as Python numbers."""
        values: list[Any] = self._items().tolist()
        return values

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        self._items()[...] = value
        self._wrote("fill_")
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> Any:
        """Write the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._memory.view(np.uint8)[...] = source._memory.view(np.uint8)
        self._wrote("copy_")
        return self

    def _wrote(self, method: str) -> None:
        if observe.observers:
            observe.notify("storage_written", method, self._memory)

    def clone(self) -> Any:
        """The same items in memory of their own."""
        made = type(self).of(self._memory.copy())
        made.alone = True
        return made

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), self.clone())

    def resize_(self, size: int) -> Any:
        """Another number of items; refused under a tensor, since NumPy cannot move memory from under its arrays."""
        if size < 0:
            raise RuntimeError(f"resize_: a storage cannot have {size} items")
        if self.alone:
            kept, self._memory = self._memory, np.zeros(size, self._memory.dtype)
            self._memory[: kept.size] = kept[:size]
        elif size != len(self):
            raise RuntimeError(
                f"resize_: a storage of {len(self)} items cannot become one of {size}, since NumPy's arrays keep the "
                "memory that they were made with: resize the tensor (Tensor.resize_), or copy into a new storage"
            )
        return self

    def resizable(self) -> bool:
        """Whether the size may change."""
        return self.alone

    def cpu(self) -> Any:
        """Itself."""
        return self

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self if type(self) is UntypedStorage else UntypedStorage.of(self._memory)

    def is_shared(self) -> bool:
        """Whether forked processes see it."""
        return is_in_shared_memory(self._memory)

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether a device copies from it directly: no."""
        return False

    def __len__(self) -> int:
        return int(self._items().size)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice) and not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        found = self._items()[index]
        return found.item() if isinstance(found, np.generic) else type(self).of(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._items()[index] = value
        self._wrote("setitem")

    def _text(self) -> str:
        return f"[torch.storage.UntypedStorage(device=cpu) of size {len(self)}]"

    def __repr__(self) -> str:
        return "".join(f" {value}\n" for value in self.tolist()) + self._text()


class TypedStorage(UntypedStorage):
    """The elements under a tensor, shared with all its views."""

    __module__ = "retrograd.storage"

    def __init__(self, *data: Any, dtype: Any = None, wrap_storage: Any = None, device: Any = None) -> None:
        discourage("TypedStorage")
        self.alone = wrap_storage is None
        numpy = np.dtype(np.float32) if dtype is None else dtype.numpy
        if wrap_storage is not None:
            self._memory = wrap_storage._memory.view(numpy)
            return
        given = data[0] if data else 0
        self._memory = np.zeros(given, numpy) if isinstance(given, int) else np.array(given, numpy)

    def _items(self) -> Any:
        return self._memory

    @property
    def dtype(self) -> Any:
        """The data type."""
        return from_numpy_dtype(self._memory.dtype)

    def _text(self) -> str:
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size {len(self)}]"

    def pickle_storage_type(self) -> str:
        """What PyTorch calls storages of this dtype."""
        return _LEGACY_NAMES[self._memory.dtype]


_LEGACY_NAMES: dict[Any, str] = {
    np.dtype(numpy): f"{name}Storage"
    for name, numpy in {
        "Half": np.float16, "Float": np.float32, "Double": np.float64, "Char": np.int8, "Short": np.int16,
        "Int": np.int32, "Long": np.int64, "Byte": np.uint8, "Bool": np.bool_, "ComplexFloat": np.complex64,
        "ComplexDouble": np.complex128,
    }.items()
}  # fmt: skip
_CONVERSIONS = {
    "half": np.float16, "float": np.float32, "double": np.float64, "char": np.int8, "short": np.int16, "int": np.int32,
    "long": np.int64, "byte": np.uint8, "bool": np.bool_, "complex_float": np.complex64,
    "complex_double": np.complex128,
}  # fmt: skip


def _conversion(numpy: Any) -> Callable[[Any], Any]:
    def converted(self: Any) -> Any:
        return TypedStorage.of(self._items().astype(numpy))

    converted.__doc__ = f"The items as {np.dtype(numpy).name}, in a storage of their own."
    return converted


for _name, _numpy in _CONVERSIONS.items():
    setattr(UntypedStorage, _name, _conversion(_numpy))


class _Legacy(type):
    """Every storage of the dtype counts as an instance, although the class makes those of ``TypedStorage``."""

    numpy: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TypedStorage) and value._memory.dtype == cls.numpy

    def __call__(cls, *data: Any) -> Any:
        return TypedStorage(*data, dtype=cls.dtype)

    @property
    def dtype(cls) -> Any:
        """The dtype of its items."""
        return from_numpy_dtype(cls.numpy)


public("UntypedStorage", method=False)(UntypedStorage)
public("TypedStorage", method=False)(TypedStorage)
for _dtype, _legacy in _LEGACY_NAMES.items():
    public(_legacy, method=False)(_Legacy(_legacy, (), {"numpy": _dtype, "__doc__": f"Storages of {_dtype.name}."}))
public("Storage", method=False)(FUNCTIONS["FloatStorage"])


@public("untyped_storage", function=False)
def untyped_storage(self: Any) -> UntypedStorage:
    """The bytes under this tensor."""
    made: UntypedStorage = UntypedStorage.of(flat_memory(self))
    return made


@public("storage", function=False)
def storage(self: Any) -> TypedStorage:
    """The elements under this tensor."""
    discourage("TypedStorage")
    made: TypedStorage = typed_storage(self)
    return made


@public("_typed_storage", function=False)
def typed_storage(self: Any) -> TypedStorage:
    """The elements under this tensor, for those who know what they ask for."""
    made: TypedStorage = TypedStorage.of(flat_memory(self))
    return made
