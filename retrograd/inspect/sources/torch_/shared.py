"""Notices that memory which a tensor shares with a NumPy array was changed while backward needs it.

No engine sees such a write, so what is kept for backward is looked at when it is kept, and again when backward begins.
"""

from __future__ import annotations

import sys
import weakref
import zlib
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ...events import Event
from ..array_writes import array_write
from .calls import version_of
from .tensors import number_of
from .values import Readable

_MOST = 100
_LARGEST = 1 << 24
"""Bytes of one tensor that are looked at."""


class _Kept(NamedTuple):
    """One tensor that backward needs, as it was."""

    tensor: weakref.ref[Any]
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
        if not _is_shared(tensor):
            return
        number = number_of(self._sink.tensors, tensor)
        if number in self._kept:
            self._compare(number, frame)
        elif len(self._kept) < _MOST:
            self._note(number, tensor)

    def hands_out(self, array: Any, frame: FrameType | None) -> None:
        """The program got an array: as long as that lives, it may write through it."""
        base = getattr(array, "base", None)
        if isinstance(base, sys.modules["torch"].Tensor):
            self.keeps(base, frame)

    def look(self, frame: FrameType | None) -> None:
        """A backward run begins: report what was changed since it was kept."""
        for number in list(self._kept):
            self._compare(number, frame)

    def _note(self, number: int, tensor: Any) -> None:
        digest = self._digest(tensor)
        if digest is None:
            self._kept.pop(number, None)
        else:
            self._kept[number] = _Kept(weakref.ref(tensor), digest, version_of(tensor))

    def _compare(self, number: int, frame: FrameType | None) -> None:
        kept = self._kept[number]
        tensor = kept.tensor()
        if tensor is None:
            del self._kept[number]
            return
        self._note(number, tensor)
        now = self._kept.get(number)
        if now is not None and now.digest != kept.digest and now.version == kept.version:
            self._report(number, frame, now.version)

    def _report(self, number: int, frame: FrameType | None, version: int) -> None:
        facts = self._sink.tensors[number]
        line = None if frame is None else array_write(frame.f_code.co_filename, facts.name)
        data: dict[str, Any] = {"inputs": [number], "names": [""], "outputs": [number], "output_names": [""]}
        data |= {"target": number, "version": [version, version], "through": "numpy", "grad": True}
        self._sink(Event("inplace", op="numpy", source=line, data=data))

    def _digest(self, tensor: Any) -> int | None:
        array = self._readable.array(tensor) if self._readable.now() else None
        if array is None or array.nbytes > _LARGEST:
            return None
        return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)


def _is_shared(tensor: Any) -> bool:
    """Whether somebody else has a hold on a tensor's memory: then PyTorch may not resize it."""
    try:
        return not tensor.untyped_storage().resizable()
    except Exception:
        return False
