"""Records writes to memory that function modes do not see: through storages, ``Tensor.set_`` and DLPack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import is_users, source_line, user_frame
from ....recording.events import Event
from ....recording.tensor_table import TensorTable
from ...array_writes import unheard_write
from ...patches import Patches
from ..calls.calls import unseen_version_of, version_of
from ..calls.tensors import describe_anew, number_of
from ..library import LIBRARY
from ..problems import unseen

_OF_STORAGES = ("fill_", "copy_", "__setitem__")


class MemoryWrites:
    """Reports to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Begin to listen."""
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
        """Tell of a write into the memory of a tensor that is known."""
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
        """Tell of a tensor that is given other memory, and that it counts its writes into that by itself."""
        for watch in self._watches():
            table: TensorTable = watch.sink.tensors
            known = table.known(tensor)
            if known is not None and is_users(caller.f_code):
                watch.sink(_write("set_", known, (before, version_of(tensor)), "", caller))
            shared = table.memory(tensor.untyped_storage()) is not None
            number = number_of(table, tensor, source=source_line(user_frame(caller)))
            describe_anew(table, tensor)
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
        """Tell of a tensor that was made of another one's memory, or of somebody else's."""
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
    return unheard_write(name, number, versions, through, user_frame(caller), grad=grad)
