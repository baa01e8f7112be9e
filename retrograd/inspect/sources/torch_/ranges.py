"""Range and sum of the results of calls: read from memory, or known because a call only rearranges entries."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..array_values import Array, is_finite, range_and_sum, row_range_and_sum
from ..function_shapes import FLAT
from .calls import Call, version_of
from .values import Readable

_SAME_ENTRIES = frozenset(
    {
        *("view", "reshape", "view_as", "reshape_as", "flatten", "unflatten", "contiguous", "clone"),
        *(
            "t",
            "T",
            "mT",
            "transpose",
            "permute",
            "swapaxes",
            "swapdims",
            "movedim",
            "moveaxis",
            "squeeze",
            "unsqueeze",
        ),
    }
)
"""Calls that give every entry of their first argument once, if as many come out."""
_MOST = 256
"""Tensors whose figures are remembered."""


Range = tuple[float, float] | None
"""NaN twice if there is one; None where there is nothing to read."""


class Figures(NamedTuple):
    """Of one tensor: range (NaN if there is one) and sum, None where there is none; and what it was read from."""

    limits: Range
    total: float | None
    array: Array | None
    """Its memory, only while the call is looked at; None if it was not read."""


class Ranges:
    """Range and sum of tensors, by their numbers; what was read since somebody may have written is not used again."""

    def __init__(self, readable: Readable) -> None:
        self.readable = readable
        self._known: dict[int, tuple[int, int, Any, Figures]] = {}
        """Number -> version, number of entries, dtype, figures."""
        self._shared = False
        """Whether the program has arrays of NumPy that share memory with tensors, and may write there unseen."""

    def heard(self, call: Call, written: bool) -> None:
        """A call was made: forget what it may have changed."""
        if call.rule.kind != "operation" or written:
            self._known.clear()
        self._shared = self._shared or "numpy" in call.rule.op or call.rule.reason == "numpy"

    def of(self, call: Call, tensor: Any, number: int, first: int | None) -> Figures:
        """Return the figures of a result; ``first`` is the number of the call's first tensor."""
        op = call.rule.op
        if op in _SAME_ENTRIES and first in self._known:
            version, entries, dtype, figures = self._known[first]
            if (version, entries, dtype) == (version_of(call.inputs[0]), tensor.numel(), tensor.dtype):
                return self._note(number, tensor, figures)
        row = self.readable.flat(tensor) if op not in FLAT else None
        quick = None if row is None or not row.size else row_range_and_sum(row)
        if quick is not None:
            found = Figures(*quick, None)
            return found if self._shared else self._note(number, tensor, found)
        array = self.readable.array(tensor)
        limits, total = (None, None) if array is None else range_and_sum(array)
        found = Figures(limits, total, array)
        if limits is not None and is_finite(limits) and not self._shared:
            self._note(number, tensor, Figures(limits, total, None))
        return found

    def _note(self, number: int, tensor: Any, figures: Figures) -> Figures:
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[number] = (version_of(tensor), tensor.numel(), tensor.dtype, figures)
        return figures
