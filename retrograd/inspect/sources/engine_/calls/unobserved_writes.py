"""Observes writes that are not operator calls: through storages, and to tensors that get other memory."""

from __future__ import annotations

from typing import Any

from .....engine.core.base import TensorBase
from .....engine.switches.state import STATE
from .....interpreter import getframe
from ....program.frames import user_frame
from ...array_writes import unobserved_write
from ..backward.facts import memory_of
from ..objects.shared import SharedMemory
from ..watching import Observer, Watching, guarded, version
from .call_describer import CallDescriber


class UnobservedWrites(Observer):
    """Sends ``inplace``."""

    def __init__(self, watching: Watching, describer: CallDescriber, shared: SharedMemory) -> None:
        super().__init__(watching)
        self._describer, self._shared = describer, shared

    @guarded
    def storage_written(self, name: str, memory: Any) -> None:
        """Note that a storage wrote into the memory of tensors."""
        table = self.watching.sink.tensors
        storage = table.memory(memory_of(memory))
        number, t = (None, None) if storage is None else table.living_in(storage)
        if number is not None and t is not None:
            self._send(name, number, (version(t), version(t)), "storage")
            self._describer.allocations.writes(t)
            self._shared.written(t)

    @guarded
    def memory_set(self, t: TensorBase, before: int) -> None:
        """Note that a tensor got other memory, with another version counter."""
        table = self.watching.sink.tensors
        number = table.known(t)
        if number is not None:
            self._send("set_", number, (before, version(t)), "")
            if table.memory(memory_of(t._array)) is not None:
                self._describer.aliases[number] = "storage"
            self.watching.describe_again(t)

    def optimizer_done(self, action: str, optimizer: Any) -> None:
        """Note that an optimizer has stepped, or cleared gradients, which are not its operands."""
        self._shared.steps += action != "zero_grad"

    def _send(self, name: str, number: int, versions: tuple[int, int], through: str) -> None:
        frame = user_frame(getframe(3))
        self.watching.send(unobserved_write(name, number, versions, through, frame, grad=STATE.grad_enabled))
