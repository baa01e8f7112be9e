"""Records writes to memory that modes do not see: through storages, DLPack, arrays and swapped tensors."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Hashable, Iterable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from .....interpreter import getframe
from ....program.frames import is_users, source_line, user_frame
from ....program.places import SourceLine
from ....recording.events import Event
from ....recording.memory_parts import Lent
from ....recording.tensor_table import TensorTable
from ....references import Reference
from ...array_writes import LARGEST, MOST, MOST_BYTES, unobserved_write, write_event
from ...patches import Patches
from ...step_effects import content_of
from ..calls.calls import unseen_version_of, version_of
from ..calls.tensors import describe_again, number_of
from ..library import LIBRARY
from ..problems import unseen
from ..values.values import Readable

# Follows `torch.utils.swap_tensors`: two tensor objects exchange all their content.


class Swaps:
    """Updates the tensor tables of every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Wrap the function that finally swaps the contents."""
        patches.wrap(LIBRARY.torch._C, "_swap_tensor_impl", self._wrap)

    def _wrap(self, original: Callable[..., None]) -> Callable[..., None]:
        def _swap_tensor_impl(*tensors: Any) -> None:
            original(*tensors)
            unseen(self._swapped, tensors)

        return _swap_tensor_impl

    def _swapped(self, tensors: Iterable[Any]) -> None:
        for watch in self._watches():
            for tensor in tensors:
                describe_again(watch.sink.tensors, tensor)


# Notices writes to memory that others can reach while a backward pass needs it.


class _Watched(NamedTuple):
    """One memory range, with its checksum."""

    owner: Reference
    """The storage, which lives as long as the memory."""
    storage: int
    number: int
    """The tensor with these entries, and ``tensor`` itself, whose version shows PyTorch's writes while it lives."""
    tensor: Reference
    line: SourceLine | None
    """The line that exported it."""
    content: Hashable
    version: int
    steps: int
    """How many steps optimizers had taken, which may write to it."""


class SharedMemory:
    """Memory of one recording that others can write into."""

    def __init__(self, sink: Any, readable: Readable, steps: Callable[[], int]) -> None:
        self._sink = sink
        self._table = sink.tensors
        self._readable = readable
        self._steps = steps
        self._watched: dict[tuple[int, int], _Watched] = {}
        """By address and length in bytes."""

    def hands_out(self, given: Any, way: str, frame: FrameType | None) -> None:
        """Note that the program gets access to a tensor's memory, through which it may write."""
        pointer = self._readable.pointer(given) if self._readable.now() else 0
        if not pointer:
            return
        storage, number = given.untyped_storage(), number_of(self._table, given)
        memory = self._table.memory(storage)
        if memory is None:
            return
        offset = given.storage_offset() * given.itemsize
        self._table.lent.hand_out(pointer, Lent(Reference(storage), number, memory, way, offset))
        self._watch(given, number, memory, frame)

    def keeps(self, tensor: Any, number: int, storage: int, frame: FrameType | None) -> None:
        """Note that a node saves a tensor whose memory somebody else has access to."""
        for place, watched in list(self._watched.items()):
            if watched.storage == storage:
                self._compare(place, frame)
        if self._readable.now():
            self._watch(tensor, number, storage, frame)

    def written(self, storages: Collection[int | None]) -> None:
        """Note that PyTorch wrote there, perhaps through an alias with another version counter."""
        for place, watched in list(self._watched.items()) if storages else ():
            if watched.storage in storages:
                self._note(place, watched)

    def look(self, frame: FrameType | None) -> None:
        """Report, when a backward pass begins, memory that changed since it was last checked."""
        for place in list(self._watched):
            self._compare(place, frame)

    def _watch(self, tensor: Any, number: int, storage: int, frame: FrameType | None) -> None:
        """Check a tensor's memory from now on, if that is not too much."""
        pointer, size = self._readable.pointer(tensor), _span(tensor)
        if not pointer or not size or size > LARGEST or (pointer, size) in self._watched:
            return
        if len(self._watched) >= MOST or sum(length for _, length in self._watched) + size > MOST_BYTES:
            self._forget_dead()
            if len(self._watched) >= MOST or sum(length for _, length in self._watched) + size > MOST_BYTES:
                return
        whole = self._original(tensor, number)
        owner, line = Reference(tensor.untyped_storage()), source_line(frame)
        watched = _Watched(owner, storage, number, Reference(whole), line, None, version_of(whole), 0)
        self._note((pointer, size), watched)

    def _original(self, given: Any, number: int) -> Any:
        """Return the living tensor of which another one is an alias by ``detach()``, else that one."""
        base = self._table[number].view_of
        whole = None if base is None else self._table.living(base)
        return given if whole is None or whole.data_ptr() != given.data_ptr() else whole

    def _forget_dead(self) -> None:
        for place in [place for place, watched in self._watched.items() if watched.owner() is None]:
            del self._watched[place]

    def _note(self, place: tuple[int, int], watched: _Watched) -> _Watched | None:
        """Note the current checksum; None if the memory was freed."""
        storage, tensor = watched.owner(), watched.tensor()
        if storage is None or not storage.nbytes():
            self._watched.pop(place, None)
            return None
        memory: Any = (ctypes.c_char * place[1]).from_address(place[0])
        content = content_of(np.frombuffer(memory, np.uint8))
        version = watched.version if tensor is None else version_of(tensor)
        now = self._watched[place] = watched._replace(content=content, version=version, steps=self._steps())
        return now

    def _compare(self, place: tuple[int, int], frame: FrameType | None) -> None:
        before = self._watched[place]
        now = self._note(place, before)
        if now is None or now.content == before.content:
            return
        if now.version == before.version and now.steps == before.steps:
            self._sink(write_event(now.number, self._name(now.number), frame, now.version, now.line))

    def _name(self, number: int) -> str:
        """Return the name of a tensor, or of the one that it is an alias of."""
        facts = self._table.entered(number)
        return str(facts.name if facts.name or facts.view_of is None else self._table.entered(facts.view_of).name)


def _span(tensor: Any) -> int:
    """Return how many bytes a tensor spans, from its first entry to its last."""
    if not tensor.numel():
        return 0
    last = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int((last + 1) * tensor.itemsize)


# Records writes to memory that function modes do not see: through storages, `Tensor.set_` and DLPack.

_OF_STORAGES = ("fill_", "copy_", "__setitem__")


class MemoryWrites:
    """Sends events to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Install the wrappers."""
        torch: Any = LIBRARY.torch
        for name in _OF_STORAGES:
            patches.wrap(torch.UntypedStorage, name, self._wrap_storage)
        patches.wrap(torch.Tensor, "set_", self._wrap_set)
        for holder in (torch, sys.modules.get("torch.utils.dlpack")):
            patches.wrap(holder, "to_dlpack", self._wrap_to_dlpack)
        patches.wrap(torch._C, "_from_dlpack", self._wrap_from_dlpack)

    # -- storages
    def _wrap_storage(self, original: Callable[..., Any]) -> Callable[..., Any]:
        name = original.__name__

        def writing(storage: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(storage, *args, **kwargs)
            unseen(self._report_storage, name, storage, getframe(2))
            return result

        return writing

    def _report_storage(self, name: str, storage: Any, caller: FrameType) -> None:
        """Report a storage's write into the memory of a known tensor."""
        for watch in self._watches():
            table = watch.sink.tensors
            memory = table.memory(storage)
            number, tensor = (None, None) if memory is None else table.living_in(memory)
            if number is not None:
                version = version_of(tensor)
                watch.sink(_write(name, number, (version, version), "storage", caller))
                watch.forward.received([number], [tensor])

    # -- tensors that are given other memory
    def _wrap_set(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def set_(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            before = unseen_version_of(tensor)
            result = original(tensor, *args, **kwargs)
            unseen(self._report_set, tensor, before, getframe(2))
            return result

        return set_

    def _report_set(self, tensor: Any, before: int, caller: FrameType) -> None:
        """Report a tensor that gets other memory, with another version counter."""
        for watch in self._watches():
            table: TensorTable = watch.sink.tensors
            known = table.known(tensor)
            if known is not None and is_users(caller.f_code):
                watch.sink(_write("set_", known, (before, version_of(tensor)), "", caller))
            shared = table.memory(tensor.untyped_storage()) is not None
            number = number_of(table, tensor, source=source_line(user_frame(caller)))
            describe_again(table, tensor)
            if shared:
                table.lent.ways[number] = "storage"

    # -- DLPack
    def _wrap_to_dlpack(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def to_dlpack(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            unseen(self._hand_out, tensor, getframe(2))
            return original(tensor, *args, **kwargs)

        return to_dlpack

    def _hand_out(self, tensor: Any, caller: FrameType) -> None:
        for watch in self._watches():
            watch.forward.shared.hands_out(tensor, "dlpack", user_frame(caller))

    def _wrap_from_dlpack(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _from_dlpack(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            unseen(self._report_made, made, getframe(2))
            return made

        return _from_dlpack

    def _report_made(self, made: Any, caller: FrameType) -> None:
        """Report a tensor made in another one's memory, or in foreign memory."""
        line = source_line(user_frame(caller))
        for watch in self._watches():
            table: TensorTable = watch.sink.tensors
            number = number_of(table, made, source=line)
            base = table.entered(number).view_of
            given = [] if base is None else [base]
            data: dict[str, Any] = {"inputs": given, "names": [""] * len(given), "outputs": [number]}
            data |= {"output_names": [""], "grad": LIBRARY.torch.is_grad_enabled()}
            row = watch.sink(Event("operation", "from_dlpack", line, data))
            if table[number].made_by is None:
                table[number].made_by = row


def _write(name: str, number: int, versions: tuple[int, int], through: str, caller: FrameType) -> Event:
    """Return the event of a write into a tensor."""
    grad: bool = LIBRARY.torch.is_grad_enabled()
    return unobserved_write(name, number, versions, through, user_frame(caller), grad=grad)
