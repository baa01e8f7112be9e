"""``contiguous`` and ``is_contiguous``: a tensor in a memory format."""

from __future__ import annotations

from typing import Any

from ....aliasing.memory_formats import check_memory_format, lies_in
from ....table.public import public
from ....table.registry import COMPOSITES, F
from ....tensors.bits import memory_of
from ....tensors.layouts import contiguous_format, preserve_format


@public(function=False)
def is_contiguous(self: Any, *, memory_format: Any = None) -> bool:
    """Whether elements lie in a memory format (by default row by row) without gaps."""
    if memory_format is None:
        return bool(memory_of(self).flags.c_contiguous)
    check_memory_format("is_contiguous", memory_format)
    return lies_in(memory_of(self), memory_format)


@public("contiguous", function=False)
def contiguous(self: Any, *, memory_format: Any = None) -> Any:
    """In a memory format, by default row by row; the tensor itself when it is so already."""
    check_memory_format("contiguous", memory_format)
    if lies_in(memory_of(self), memory_format):
        return self
    if memory_format == preserve_format:
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator: use clone(), or contiguous() for rows"
        )
    return F.clone(self, contiguous_format if memory_format is None else memory_format)


COMPOSITES["_dense"] = contiguous
