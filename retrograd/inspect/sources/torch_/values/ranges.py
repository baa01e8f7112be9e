"""Range and sum of the results of calls: read from memory, or known because a call only rearranges elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....recording.tensor_table import TensorTable
from ...array_values import Array, is_finite, range_and_sum
from ..calls.calls import Call, version_of
from ..calls.rules import Rule
from .far import FarValues
from .values import Readable

_MOST = 256
"""Tensors whose statistics are cached."""


Range = tuple[float, float] | None
"""NaN twice if there is one; None if there is nothing to read."""
Figures = tuple[float | None, ...]
"""Minimum, maximum (both NaN if there is one) and sum of each of several tensors; None where there is none."""
NOT_READ: Figures = (None, None, None)


def range_of(figures: Figures) -> Range:
    """Return the range of the first tensor."""
    low, high = figures[0], figures[1]
    return None if low is None or high is None else (low, high)


class Ranges:
    """Range and sum of tensors, cached by number until somebody may have written to them."""

    def __init__(self, readable: Readable, table: TensorTable, missed: Callable[[str, str], None]) -> None:
        """``missed`` is called for values that cannot be read."""
        self.readable, self.missed = readable, missed
        self.far = FarValues(readable, table, missed)
        self._known: dict[int, tuple[int, int, Any, Figures]] = {}
        """Number -> version, number of entries, dtype, statistics."""
        self._shared = False
        """Whether the program has NumPy arrays that share memory with tensors, and may write there unseen."""

    def forget(self, rule: Rule, written: Sequence[int]) -> None:
        """Drop what a call may have changed, in any case for tensors with these numbers."""
        self._known.clear()
        if written:
            self.far.wrote(written)
        self._shared = self._shared or "numpy" in rule.op or rule.reason == "numpy"

    def forget_all(self, written: Sequence[int]) -> None:
        """Drop tensors with these numbers and those that share their memory, after an unseen write."""
        self._known.clear()
        self.far.wrote(written)

    def of(
        self, call: Call, tensor: Any, number: int, first: int | None, *, near: bool = False
    ) -> tuple[Figures, Array | None]:
        """Return the statistics of a result, and the array they were read from if it may be needed.

        ``first`` is the number of the call's first tensor, ``near`` as for ``quick_range``.  The array must only be
        read while the call is handled.
        """
        if call.rule.rearranges and first in self._known:
            version, entries, dtype, figures = self._known[first]
            if (version, entries, dtype) == (call.versions[0], tensor.numel(), tensor.dtype):
                self.keep(number, tensor, figures)
                return figures, None
        quick = self.readable.quick_range(tensor, near=near) if call.rule.operator.flat is None else None
        if quick is not None:
            self.keep(number, tensor, quick)
            return quick, None
        array = self.readable.array(tensor)
        if array is None and type(tensor) not in self.readable.plain and tensor.is_floating_point() and tensor.numel():
            self.missed("values", f"of class {type(tensor).__name__}")
        limits, total = (None, None) if array is None else range_and_sum(array)
        if limits is None:
            return ((None, None, total) if array is not None else self._bad_parts(tensor)), array
        figures = (*limits, total)
        if is_finite(limits):
            self.keep(number, tensor, figures)
        return figures, array

    def _bad_parts(self, tensor: Any) -> Figures:
        """Return the facts about complex numbers: whether they are not finite."""
        parts = self.readable.parts(tensor)
        limits = None if parts is None else range_and_sum(parts)[0]
        return NOT_READ if limits is None or is_finite(limits) else (*limits, None)

    def within(self, tensor: Any) -> tuple[Figures, Array | None]:
        """Do the same inside a transform of ``torch.func``, without caching."""
        array = self.readable.within(tensor)
        limits, total = (None, None) if array is None else range_and_sum(array)
        if limits is None:
            return ((None, None, total) if array is not None else NOT_READ), array
        return (*limits, total), array

    def keep(self, number: int, tensor: Any, figures: Figures) -> None:
        """Cache the statistics of a tensor, unless they may change unseen."""
        if not self._shared:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[number] = (version_of(tensor), tensor.numel(), tensor.dtype, figures)
