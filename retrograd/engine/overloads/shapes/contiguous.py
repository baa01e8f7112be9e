"""``contiguous``, and what memory formats ask of a tensor."""

from __future__ import annotations

from typing import Any

from ...table.public import public
from ...table.registry import F
from ...tensors.base import memory_of


def check_memory_format(t: Any, memory_format: Any) -> None:
    """``RuntimeError`` for ``channels_last`` on a tensor that is no batch of images."""
    if str(memory_format) == "torch.channels_last" and t.ndim != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")


@public("contiguous", function=False)
def contiguous(self: Any, memory_format: Any = None) -> Any:
    """Row-major; the tensor itself when it is so already."""
    check_memory_format(self, memory_format)
    if memory_of(self).flags.c_contiguous:
        return self
    return F._contiguous_copy(self)
