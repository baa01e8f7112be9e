"""Tensors whose memory something other than their engine may write to."""

from __future__ import annotations

from typing import NamedTuple

from ..bounded import BoundedDict
from ..references import Reference


class Lent(NamedTuple):
    """Memory that was handed out, from the first entry of a tensor on."""

    owner: Reference
    """The object that owns it, which lives as long as the memory."""
    tensor: int
    storage: int
    way: str
    """``numpy`` or ``dlpack``."""
    offset: int
    """Bytes of the memory before it."""


class LentMemory:
    """What one recording knows of it."""

    def __init__(self) -> None:
        self.storages: set[int] = set()
        """Numbers of memories to which something else has access."""
        self.ways: dict[int, str] = {}
        """Number of a tensor that shares memory behind the version counter's back -> the call that made it."""
        self._handed: BoundedDict[int, Lent] = BoundedDict(1_000)
        """By address."""

    def hand_out(self, address: int, lent: Lent) -> None:
        """Memory is handed out."""
        self.storages.add(lent.storage)
        self._handed[address] = lent

    def at(self, address: int) -> Lent | None:
        """Return what was handed out at an address, if it is still the same memory."""
        found = self._handed.get(address)
        return None if found is None or found.owner() is None else found
