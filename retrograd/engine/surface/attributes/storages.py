"""Storages: the memory under tensors as bytes, one object for each memory while it is in use."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from operator import index
from typing import Any, Final

import numpy as np

from ... import observe
from ...aliasing.owners import is_shared, owner_of
from ...aliasing.shared_memory import aliases_of, is_in_shared_memory, move_to_shared_memory, move_to_size
from ...aliasing.strided import Geometry, address, root_array, strided
from ...core.absent import AbsentMemory
from ...core.argument_checks import type_name_of
from ...core.base import TensorBase, wrap
from ...core.devices import CPU, is_meta
from ...core.devices import device as device_named
from ...core.dtypes import by_name
from ...table.public import FUNCTIONS, public

_BYTE: Final = np.dtype(np.uint8)
_KNOWN: weakref.WeakValueDictionary[tuple[int, int, int], Any] = weakref.WeakValueDictionary()
"""Storages by their owner, which they keep alive, and by where their bytes begin and how many there are."""


def flat_memory(t: TensorBase) -> Any:
    """All elements of a tensor's storage in one dimension."""
    root = root_array(t)
    return strided(root, (Geometry.of(root, 0).extent(),), (1,), 0)


class UntypedStorage:
    """The bytes under a tensor, shared with all its views; ``UntypedStorage(n)`` are ``n`` bytes of their own."""

    __module__ = "retrograd.storage"

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False
    device: Any = CPU
    filename: str | None = None
    """The file that it is mapped from."""
    _memory: Any
    """The bytes; without memory (``device='meta'``) there is only their number."""

    def __init__(self, *data: Any, device: Any = None) -> None:
        if len(data) > 1:
            raise TypeError("torch.UntypedStorage() received an invalid combination of arguments: a size or a sequence")
        given = data[0] if data else 0
        whole = given if np.iterable(given) else [given]
        if isinstance(given, str) or not all(isinstance(n, int) for n in whole):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), but "
                "one of the items is no int"
            )
        if isinstance(given, int):
            _check_size(given)
        if is_meta(device):
            self.device, self._memory = device_named("meta"), range(given)
        else:
            self._hold(np.zeros(given, _BYTE) if isinstance(given, int) else np.array(given, _BYTE))

    def _hold(self, memory: Any) -> None:
        self._memory = memory
        _KNOWN[_key(memory)] = self

    @classmethod
    def of(cls, memory: Any) -> Any:
        """The storage of a flat array."""
        memory = memory.view(_BYTE)
        known = _KNOWN.get(_key(memory))
        if known is None:
            known = cls.__new__(cls)
            known._hold(memory)
        return known

    def _bytes(self) -> Any:
        if self.device is not CPU:
            raise NotImplementedError("Not available for 'meta' device type")
        return self._memory

    def get_device(self) -> None:
        """The number of the device: the CPU has none."""

    @property
    def _cdata(self) -> int:
        return self.data_ptr() or id(self)

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return address(self._memory) if self.device is CPU and self._memory.size else 0

    def nbytes(self) -> int:
        """Size in bytes."""
        return len(self._memory)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes per item."""
        return 1

    def type(self, dtype: Any = None, non_blocking: bool = False) -> str:
        """What it is called."""
        return "torch.storage.UntypedStorage"

    def tolist(self) -> list[int]:
        """The bytes as Python numbers."""
        values: list[int] = self._bytes().tolist()
        return values

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere."""
        self._bytes()[...] = _byte("fill_", value)
        self._wrote("fill_")
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> Any:
        """Write the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._bytes()[...] = source.untyped()._bytes()
        self._wrote("copy_")
        return self

    def _wrote(self, method: str) -> None:
        if observe.observers:
            observe.notify("storage_written", method, self._memory)

    def clone(self) -> Any:
        """The same bytes in memory of their own."""
        return UntypedStorage.of(self._bytes().copy())

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return memo.setdefault("torch", {}).setdefault(self._cdata, self.clone())

    def __reduce__(self) -> Any:
        raise AttributeError("type object 'torch.storage.UntypedStorage' has no attribute 'dtype': save a tensor on it")

    def new(self) -> Any:
        """An empty storage."""
        return UntypedStorage()

    def resize_(self, size: int) -> Any:
        """Another number of bytes, also under the tensors that lie here; what is lost may still be seen by these."""
        _check_size(size)
        if self.device is not CPU:
            self._memory = range(size)
        elif size != self.nbytes():
            if not self.resizable():
                raise RuntimeError("Trying to resize storage that is not resizable")
            self._hold(move_to_size(self._memory, size, aliases_of(None, owner_of(self._memory))))
        return self

    def resizable(self) -> bool:
        """Whether the size may change: not of memory that others than tensors hold, too."""
        return not is_shared(self._memory) and not self.is_shared()

    def cpu(self) -> Any:
        """Itself."""
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """Itself, on the only device."""
        return UntypedStorage(self.nbytes(), device=device) if is_meta(device) else self

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def byteswap(self, dtype: Any) -> None:
        """Exchange the bytes of each item of a dtype."""
        self._bytes().view(dtype.numpy).byteswap(inplace=True)
        self._wrote("byteswap")

    def is_shared(self) -> bool:
        """Whether forked processes see it."""
        return self.device is CPU and is_in_shared_memory(self._memory)

    def share_memory_(self) -> Any:
        """Move it, and the tensors on it, to memory that forked processes see."""
        if not self.is_shared():
            under = wrap(self._bytes())
            move_to_shared_memory(under)
            self._hold(under._array)
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether a device copies from it directly: no."""
        return False

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            _check_step(place)
            return UntypedStorage.of(self._bytes()[place])
        self._check_place(place)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} out of range for storage of size {len(self)}")
        return self._bytes()[place].item()

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(place, slice):
            _check_step(place)
        else:
            self._check_place(place)
            if not -len(self) <= place < len(self):
                raise RuntimeError("out of bounds")
        self._bytes()[place] = _byte("setitem", value)
        self._wrote("setitem")

    def _check_place(self, place: Any) -> None:
        if not hasattr(place, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(place).__name__}")

    def __repr__(self) -> str:
        shown = "".join(f" {value}\n" for value in self.tolist()) if self.device is CPU else "...\n"
        return f"{shown}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", *, dtype: Any = None, count: int = -1,
                    offset: int = 0) -> Any:  # fmt: skip
        """A copy of the bytes of a buffer."""
        return UntypedStorage.of(items_of_buffer(buffer, byte_order, _BYTE if dtype is None else dtype.numpy))

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> Any:
        """The bytes of a file, written back to it where it is shared."""
        made = FUNCTIONS["from_file"](filename, shared=shared, size=nbytes, dtype=by_name("uint8"))
        storage: UntypedStorage = made.untyped_storage()
        storage.filename = filename if shared else None
        return storage


def _key(memory: Any) -> tuple[int, int, int]:
    return id(owner_of(memory)), address(memory), memory.nbytes


def _check_size(size: Any) -> None:
    if index(size) < 0:
        raise RuntimeError(f"alloc_cpu() seems to have been called with negative number: {2**64 + size}")


def _check_step(place: slice) -> None:
    if place.step not in (None, 1):
        raise RuntimeError(f"Trying to slice with a step of {place.step}, but only a step of 1 is supported")


def _byte(method: str, value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise RuntimeError(f"{method} expects int, but got {type_name_of(value)}")
    return index(value) % 256


def items_of_buffer(buffer: Any, byte_order: str, numpy: Any) -> Any:
    """A copy of the items in a buffer, whose bytes lie in one order or the other."""
    if byte_order not in ("native", "little", "big"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big' or 'little')")
    raw = np.frombuffer(buffer, _BYTE)
    if raw.size % numpy.itemsize:
        raise ValueError(
            f"buffer length ({raw.size} bytes) after offset (0 bytes) must be a multiple of element size "
            f"({numpy.itemsize})"
        )
    items = raw.copy().view(numpy)
    return items.byteswap() if byte_order == "big" else items


def memory_at(storage: UntypedStorage, numpy: Any) -> Any:
    """What lies in a storage, as whole items of a dtype."""
    memory = storage._bytes()
    return memory[: len(memory) // numpy.itemsize * numpy.itemsize].view(numpy)


public("UntypedStorage", method=False)(UntypedStorage)


@public("untyped_storage", function=False)
def untyped_storage(self: Any) -> UntypedStorage:
    """The bytes under this tensor."""
    if self._array.__class__ is AbsentMemory:
        whole = (self._array.offset + Geometry.of(self._array, 0).extent()) * self._array.itemsize
        return UntypedStorage(whole, device="meta")
    found: UntypedStorage = UntypedStorage.of(flat_memory(self))
    return found
