"""``x.resize(3, 2)``: the old name of ``reshape`` for tensors of the same number of elements."""

from __future__ import annotations

from typing import Any

from ...table.public import public
from ...warning import warn
from .legacy_resize import Resize


@public("resize", function=False)
def resize(self: Any, *sizes: Any) -> Any:
    """The same elements in another shape; warns that ``reshape`` is meant."""
    warn("non-inplace resize is deprecated")
    return Resize.apply(self, sizes)


@public("resize_as", function=False)
def resize_as(self: Any, tensor: Any) -> Any:
    """``self.resize(*tensor.size())``; warns that ``reshape_as`` is meant."""
    warn("non-inplace resize_as is deprecated")
    return Resize.apply(self, tuple(tensor.shape))
