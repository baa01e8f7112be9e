"""Reads the values of PyTorch tensors as arrays, without effects that the program could notice.

Memory is read by its address, since ``Tensor.numpy()`` would make the storage impossible to resize for good.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ....bounded import BoundedDict
from ....program.signals import reraise_from_handler
from ...array_values import Array, unrepeated
from ...sparse_entries import summed
from ..library import LIBRARY
from ..private import private
from .products import RangeReader, range_reader

_EAGER = frozenset({"cuda", "xpu", "mps", "mtia", "hpu"})
"""Devices whose kernels run when they are called, as those of a device that a program adds to PyTorch do."""
_UNKNOWN: Any = object()
_ENTRIES: dict[Any, Any] = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}


class Readable:
    """Checks whether values can be read without the program noticing, and reads them.

    They cannot if the program itself observes every kernel (a ``TorchDispatchMode``) or if there are none (``vmap``,
    fake and meta tensors); other devices than the CPU would have to be waited for.
    """

    def __init__(self) -> None:
        torch: Any = LIBRARY.torch
        self.plain = frozenset({torch.Tensor, torch.nn.Parameter})
        self.strided = torch.strided
        self._sparse = torch.sparse_coo
        self.wide: dict[Any, np.dtype[Any]] = {
            torch.float32: np.dtype(np.float32),
            torch.float64: np.dtype(np.float64),
        }
        self.by_name = {str(dtype).rpartition(".")[2]: dtype for dtype in self.wide}
        self._indices: dict[Any, np.dtype[Any]] = {
            torch.int64: np.dtype(np.int64),
            torch.int32: np.dtype(np.int32),
            torch.bool: np.dtype(np.bool_),
        }
        self._narrow = frozenset({torch.bfloat16, torch.float16})
        self._complex = frozenset({torch.complex32, torch.complex64, torch.complex128})
        names = private()
        self._transforms, self._dispatch_modes = names.transform, names.count_dispatch_modes
        self._is_wrapped, self._inner = names.is_wrapped, names.unwrap
        self._telling: dict[Any, bool] = {}
        self._sizes: BoundedDict[tuple[Any, Any], int] = BoundedDict(10_000)
        self._types: BoundedDict[int, Any] = BoundedDict(10_000)
        self._readers: BoundedDict[tuple[Any, int], RangeReader | None] = BoundedDict(10_000)
        """By dtype and bytes."""

    def now(self) -> bool:
        """Whether anything may be read at this moment."""
        return self._transforms() is None and not self._dispatch_modes()

    def transformed(self) -> bool:
        """Whether a transform of ``torch.func`` is active, whose tensors wrap those with memory."""
        return self._transforms() is not None and not self._dispatch_modes()

    def within(self, tensor: Any) -> Array | None:
        """Return the values inside the wrappers of transforms as an array, those of a whole batch under ``vmap``.

        Only if they can be read directly from memory, for any computation would be transformed, too.
        """
        plain = self.unwrapped(tensor)
        return None if plain is None or plain.dtype not in self.wide else self.array(plain)

    def unwrapped(self, tensor: Any) -> Any:
        """Return the strided tensor inside the wrappers of transforms, None for others."""
        try:
            while self._is_wrapped(tensor):
                tensor = self._inner(tensor)
            return tensor if tensor.layout is self.strided else None
        except Exception as failure:
            reraise_from_handler(failure)
            return None

    def is_far(self, tensor: Any) -> bool:
        """Whether a tensor's values are on another device, where statistics can be computed unnoticed.

        Not on devices that record calls to compile them (XLA), or while a CUDA graph is captured.
        """
        torch: Any = LIBRARY.torch
        try:
            if type(tensor) not in self.plain or tensor.is_cpu or tensor.layout is not self.strided:
                return False
            if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel() or not self.now():
                return False
            device = tensor.device
            if device.type not in _EAGER and device.type != torch._C._get_privateuse1_backend_name():
                return False
            if not tensor.untyped_storage().nbytes() and self._knows_size(device):  # freed meanwhile
                return False
            return device.type != "cuda" or not torch.cuda.is_current_stream_capturing()
        except Exception as failure:
            reraise_from_handler(failure)
            return False

    def _knows_size(self, device: Any) -> bool:
        """Whether the storages of a device know their size: substitutes for storages need not."""
        found = self._telling.get(device)
        if found is None:
            one = LIBRARY.torch.empty(1, device=device)
            found = self._telling[device] = bool(one.untyped_storage().nbytes())
        return found

    def address_finder(self) -> Callable[[Any, int], int]:
        """Return a function that returns the address of a plain contiguous tensor with so many bytes.

        It returns 0 for any other tensor, and makes few checks, for it is called between two kernels; the entries may
        be negated lazily (``is_neg``).
        """
        plain, size_in_one_piece = self.plain, self.size_in_one_piece

        def address_of(tensor: Any, size: int) -> int:
            try:
                if (
                    type(tensor) in plain
                    and tensor.nbytes == size
                    and (tensor.is_contiguous() or size_in_one_piece(tensor) * tensor.itemsize == size)
                    and not tensor.storage_offset()
                    and tensor.is_cpu
                ):
                    address: int = tensor.data_ptr()
                    return address
            except RuntimeError:  # sparse, and others without memory of that kind
                pass
            return 0

        return address_of

    def quick_range(self, tensor: Any, *, near: bool) -> tuple[float, float, float] | None:
        """Return minimum, maximum and sum of a plain contiguous tensor of ordinary numbers, with few checks.

        None for any other tensor.  ``near`` says that it is known to be strided, on the CPU, and to fill its memory.
        """
        try:
            read = self._readers.get((tensor.dtype, tensor.nbytes), _UNKNOWN)
            if read is _UNKNOWN:
                read = self._reader(tensor.dtype, tensor.nbytes)
            if (
                read is None
                or not (near or self._begins_here(tensor))
                or not (tensor.is_contiguous() or self.size_in_one_piece(tensor))
                or tensor.is_neg()
            ):
                return None
            pointer = tensor.data_ptr()
            return read(pointer) if pointer else None
        except Exception as failure:
            reraise_from_handler(failure)
            return None

    def _begins_here(self, tensor: Any) -> bool:
        """Whether a tensor is a plain strided one at the beginning of its memory, on the CPU."""
        return (
            type(tensor) in self.plain
            and tensor.layout is self.strided
            and not tensor.storage_offset()
            and tensor.is_cpu
        )

    def _reader(self, dtype: Any, size: int) -> RangeReader | None:
        """Return what reads so many bytes of a dtype, None if that takes longer or is impossible; caches it."""
        wide = self.wide.get(dtype)
        found = self._readers[dtype, size] = None if wide is None else range_reader(size, wide)
        return found

    def first_entry(self, tensor: Any) -> float:
        """Return the first entry of a plain tensor of single or double precision, but for its sign; 0 for others."""
        entry = _ENTRIES.get(self.wide.get(tensor.dtype))
        if entry is None or not self.is_plain(tensor) or tensor.storage_offset() or not tensor.numel():
            return 0.0
        pointer = tensor.data_ptr()
        return float(entry.from_address(pointer).value) if pointer else 0.0

    def array(self, tensor: Any) -> Array | None:
        """Return a floating tensor as an array, narrow dtypes converted; None if unavailable.

        The array shares the tensor's memory without keeping it alive: it must only be read while the tensor lives.
        """
        try:
            dtype = self.wide.get(tensor.dtype)
            if dtype is None and tensor.dtype not in self._narrow:
                return None
            if tensor.layout is self._sparse:
                return self._entries(tensor)
            pointer = self.pointer(tensor)
            if dtype is None:
                return _converted(tensor.detach()) if pointer else None
            if pointer:
                return self._view(tensor, dtype, pointer)
            return np.empty(tensor.shape, dtype) if self.is_plain(tensor) and not tensor.numel() else None
        except Exception as failure:  # a shape that cannot be read, …
            reraise_from_handler(failure)
            return None

    def gradient(self, tensor: Any) -> Array | None:
        """Return the array for statistics of a gradient; for complex numbers their magnitudes."""
        if tensor.dtype not in self._complex:
            return self.array(tensor)
        try:
            return _converted(tensor.detach().abs()) if self.pointer(tensor) else None
        except Exception as failure:
            reraise_from_handler(failure)
            return None

    def parts(self, tensor: Any) -> Array | None:
        """Return the real and imaginary parts of a complex tensor, None for others and if unavailable."""
        if tensor.dtype not in self._complex:
            return None
        try:
            return self.array(LIBRARY.torch.view_as_real(tensor.detach()))
        except Exception as failure:  # lazily conjugated, …
            reraise_from_handler(failure)
            return None

    def index(self, tensor: Any) -> Array | None:
        """Return an index tensor as an array, as ``array`` does."""
        dtype, pointer = self._indices.get(tensor.dtype), self.pointer(tensor)
        return None if dtype is None or not pointer else self._view(tensor, dtype, pointer)

    def _entries(self, tensor: Any) -> Array | None:
        """Return the entries of a sparse tensor, with repeated indices summed, as a new array."""
        indices, values = tensor._indices(), self.array(tensor._values())
        pointer = self.pointer(indices)
        if values is None or not (pointer or not indices.numel()):
            return None
        places = self._view(indices, np.dtype(np.int64), pointer) if pointer else np.empty(indices.shape, np.int64)
        return summed(places, values)

    def _view(self, tensor: Any, dtype: np.dtype[Any], pointer: int) -> Array:
        """Return memory as an array."""
        shape, size = tensor.shape, dtype.itemsize
        if tensor.is_contiguous():
            return np.ndarray(shape, dtype, self._bytes(tensor.numel() * size).from_address(pointer))
        strides = tensor.stride()
        last = sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
        memory = self._bytes((last + 1) * size).from_address(pointer)
        return np.ndarray(shape, dtype, memory, strides=tuple(stride * size for stride in strides))

    def memory(self, pointer: int, size: int) -> Array:
        """Return so many bytes of memory as an array."""
        return np.frombuffer(self._bytes(size).from_address(pointer), np.uint8)

    def _bytes(self, size: int) -> Any:
        """Return the type of that many bytes."""
        found = self._types.get(size)
        if found is None:
            found = self._types[size] = ctypes.c_char * size
        return found

    def is_plain(self, tensor: Any) -> bool:
        """Whether a tensor's memory holds its values."""
        return type(tensor) in self.plain and tensor.is_cpu and tensor.layout is self.strided and not tensor.is_neg()

    def size_in_one_piece(self, tensor: Any) -> int:
        """Return how many entries are adjacent, in any order; 0 if they are not."""
        if tensor.is_contiguous():
            return int(tensor.numel())
        layout = (tensor.shape, tensor.stride())
        size = self._sizes.get(layout)
        if size is None:
            size = self._sizes[layout] = _entries_side_by_side(*layout)
        return size

    def pointer(self, tensor: Any) -> int:
        """Return the address of a tensor's first entry, 0 if there is none that may be read."""
        if not self.is_plain(tensor) or (tensor.storage_offset() and not tensor.untyped_storage().nbytes()):
            return 0
        pointer: int = tensor.data_ptr()  # at the beginning of memory that was freed early it is 0
        return pointer


def _converted(tensor: Any) -> Array:
    """Return a narrow tensor as an array; an expanded one without repetitions in memory."""
    strides = tensor.stride()
    if 0 in strides:
        return np.broadcast_to(tensor[unrepeated(strides)].float().numpy(), tensor.shape)
    array: Array = tensor.float().numpy()
    return array


def _entries_side_by_side(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return the number of entries if they fill their memory range without gaps or overlaps, else 0."""
    size = 1
    for stride, length in sorted(zip(strides, shape, strict=True)):
        if length != 1 and stride != size:
            return 0
        size *= length
    return size
