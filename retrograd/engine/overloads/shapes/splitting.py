"""Pieces of a tensor: views, or with ``unsafe_`` tensors of their own on the same memory."""

from __future__ import annotations

from typing import Any

from ...table.public import check_tensor, public
from ...table.registry import F
from ...tensors.convert import checked_dim


def pieces(form: str, tensor: Any, size: Any, dim: int) -> Any:
    """Pieces of one size or of given sizes, by rows named ``"_{}"`` (views), ``"_unsafe_{}"`` or ``"_{}_copy"``."""
    check_tensor("split", tensor)
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, int):
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        return getattr(F, form.format("split"))(tensor, size, dim)
    return getattr(F, form.format("split_with_sizes"))(tensor, tuple(int(s) for s in size), dim)


def _chunks(form: str, split: str, tensor: Any, chunks: int, dim: int) -> Any:
    """Pieces of equal size, by the row ``split``; without entries to count, by the rows of ``form``."""
    check_tensor("chunk", tensor)
    shape = tensor._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = shape[checked_dim(dim, len(shape))]
    if n:
        return getattr(F, split)(tensor, int(-(-n // chunks)), dim)
    return pieces(form, tensor, (0,) * chunks, dim)


def _publish(unsafe: str, note: str) -> None:
    """Publish ``split``, ``split_with_sizes`` and ``chunk``, or their ``unsafe_`` forms."""
    form, equal = f"_{unsafe}{{}}", f"_{unsafe}split"

    def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
        return pieces(form, tensor, split_size_or_sections, dim)

    def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
        return pieces(form, input, tuple(split_sizes), dim)

    def chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
        return _chunks(form, equal, input, chunks, dim)

    split.__doc__ = f"Pieces of a given size (the last may be smaller), or of given sizes{note}."
    split_with_sizes.__doc__ = f"Pieces of the given sizes{note}."
    chunk.__doc__ = f"At most ``chunks`` pieces of equal size (the last may be smaller){note}."
    for function in (split, split_with_sizes, chunk):
        function.__name__ = function.__qualname__ = unsafe + function.__name__
        public(also={"input": "tensor", "split_size": "split_size_or_sections"} if function is split else {})(function)


_publish("", "")
_publish("unsafe_", "; no views, so each may be written in place")
