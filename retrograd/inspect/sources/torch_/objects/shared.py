"""Notices that memory which a tensor shares with a NumPy array was changed while backward needs it.

No engine sees such a write, so what is kept for backward is looked at when it is kept, and again when backward begins.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, NamedTuple

from ....references import Reference
from ...array_writes import LARGEST, MOST, digest, write_event
from ..calls.calls import version_of
from ..calls.tensors import is_lent, number_of
from ..library import LIBRARY
from ..values.values import Readable


class _Kept(NamedTuple):
    """One tensor that backward needs, as it was."""

    tensor: Reference
    digest: int
    version: int


class SharedMemory:
    """What one recording knows of memory that NumPy can write into."""

    def __init__(self, sink: Any, readable: Readable) -> None:
        self._sink = sink
        self._readable = readable
        self._kept: dict[int, _Kept] = {}

    def keeps(self, tensor: Any, frame: FrameType | None) -> None:
        """A node keeps a tensor for backward: a digest is kept of it if NumPy may write there."""
        if not is_lent(tensor):
            return
        number = number_of(self._sink.tensors, tensor)
        if number in self._kept:
            self._compare(number, frame)
        elif len(self._kept) < MOST:
            self._note(number, tensor)

    def hands_out(self, array: Any, given: Any, frame: FrameType | None) -> None:
        """The program got a tensor's array: as long as that lives, it may write through it."""
        self._sink.tensors.lent = True
        alias = getattr(array, "base", None)
        if isinstance(alias, LIBRARY.torch.Tensor):
            original = self._original(given)
            self.keeps(alias if original is None else original, frame)

    def _original(self, given: Any) -> Any:
        """Return the living tensor whose alias by ``detach()`` gave an array, if there is one: it outlives both."""
        table = self._sink.tensors
        number = table.known(given)
        base = None if number is None else table[number].view_of
        whole = None if base is None or len(self._kept) >= MOST else table.living(base)
        return whole if whole is not None and whole.data_ptr() == given.data_ptr() else None

    def look(self, frame: FrameType | None) -> None:
        """A backward run begins: report what was changed since it was kept."""
        for number in list(self._kept):
            self._compare(number, frame)

    def _note(self, number: int, tensor: Any) -> None:
        found = self._digest(tensor)
        if found is None:
            self._kept.pop(number, None)
        else:
            self._kept[number] = _Kept(Reference(tensor), found, version_of(tensor))

    def _compare(self, number: int, frame: FrameType | None) -> None:
        kept = self._kept[number]
        tensor = kept.tensor()
        if tensor is None:
            del self._kept[number]
            return
        self._note(number, tensor)
        now = self._kept.get(number)
        if now is not None and now.digest != kept.digest and now.version == kept.version:
            name = self._sink.tensors.entered(number).name
            self._sink(write_event(number, name, frame, now.version))

    def _digest(self, tensor: Any) -> int | None:
        array = self._readable.array(tensor) if self._readable.now() else None
        return None if array is None or array.nbytes > LARGEST else digest(array)
