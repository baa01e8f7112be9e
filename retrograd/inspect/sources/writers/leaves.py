"""Writes events of leaves and of gradients changed outside backward; tracks which tensor is whose ``.grad``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...program.places import SourceLine
from ...program.stacks import StackFrame
from ...recording.events import Event
from ...recording.tensor_table import TensorTable

_MOST = 1_000
"""Gradients, possibly dead, that are kept in addition to twice as many as live."""


class _Gradient(NamedTuple):
    """The gradient that was last seen in a memory."""

    number: int
    size: int
    """Its number of entries."""


class Gradients:
    """Knows of which leaf a tensor is the ``.grad``, or an alias of all of it, by the numbers of one recording."""

    def __init__(self, table: TensorTable) -> None:
        self._table = table
        self.leaves: dict[int, int] = {}
        """Number of a gradient -> its leaf."""
        self._in: dict[int, _Gradient] = {}
        """By memory."""
        self._most = _MOST

    def belongs(self, gradient: int, memory: int | None, size: int, leaf: int) -> None:
        """Note that a tensor with so many entries is the ``.grad`` of a leaf."""
        self.leaves[gradient] = leaf
        if len(self.leaves) > self._most:
            self._forget_dead()
        if memory is not None:
            self._in[memory] = _Gradient(gradient, size)

    def leaf_of(self, tensor: int, memory: int | None, size: int) -> int | None:
        """Return the leaf whose gradient a tensor with so many entries is, or covers."""
        leaf = self.leaves.get(tensor)
        seen = None if memory is None or leaf is not None else self._in.get(memory)
        return leaf if seen is None or seen.size != size else self.leaves.get(seen.number)

    def _forget_dead(self) -> None:
        self._table.forget_dead(self.leaves)
        self._in = {memory: one for memory, one in self._in.items() if one.number in self.leaves}
        self._most = 2 * len(self.leaves) + _MOST


def leaf_event(
    op: str,
    change: str,
    leaf: int,
    line: SourceLine | None,
    stack: list[StackFrame],
    run: int | None,
    names: Sequence[str] = (),
    **more: Any,
) -> Event:
    """Return the event of a changed leaf; ``names`` are its texts in the line, ``more`` is added to its data."""
    data: dict[str, Any] = {"tensor": leaf, "names": list(names), "change": change, **more, "stack": stack}
    if run is not None:
        data["run"] = run
    return Event("leaf", op, line, data)


def read_event(tensor: Any, number: int, line: SourceLine | None, run: int | None, names: Sequence[str] = ()) -> Event:
    """Return the event of a read of ``.grad``: of a leaf without one, or of a tensor that is not a leaf."""
    data: dict[str, Any] = {"tensor": number, "names": list(names), "leaf": tensor.is_leaf}
    data["retains_grad"] = tensor.retains_grad
    if run is not None:
        data["run"] = run
    return Event("read", "grad", line, data)
