"""Writes into tensors whose elements share memory: which are refused, which are allowed, and their results."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..tensors.base import Array
from ..warning import warn
from .strided import partly_overlaps

TOLERATED: Final = {
    "_index_put": "index_put_",
    "_index_fill_number": "index_fill_",
    "_index_fill_tensor": "index_fill_",
    "masked_fill": "masked_fill_",
    "_masked_fill_tensor": "masked_fill_",
}
"""Row -> name of the functions that write to expanded tensors all the same, as gradients of a sum often are."""


def check_overlap(array: Array, operands: list[Any]) -> None:
    """Refuse writes to an array whose elements share memory, among themselves or partly with an operand's."""
    for other in operands:
        if other._array is not array and partly_overlaps(array, other._array):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )
    if _repeated_dims(array):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def last_written(name: str, old: Array, new: Array) -> Array:
    """What the memory of ``old`` holds after a tolerated write that makes it ``new``: the last change of each place.

    Warns as PyTorch does if elements of ``old`` share memory; else, and for other rows, that is ``new``.
    """
    dims = _repeated_dims(old) if name in TOLERATED else ()
    if not dims:
        return new
    warn(
        f"Use of {TOLERATED[name]} on expanded tensors is deprecated. Please clone() the tensor before performing "
        "this operation. This also applies to advanced indexing e.g. tensor[indices] = tensor"
    )
    ends = tuple(range(-len(dims), 0))
    before, after = (np.moveaxis(np.broadcast_to(one, old.shape), dims, ends) for one in (old, new))
    places = before.shape[: -len(dims)]
    before, after = (one.reshape(*places, -1)[..., ::-1] for one in (before, after))
    changed = (before != after) & ~((before != before) & (after != after))  # NaN stays NaN
    found = np.take_along_axis(after, changed.argmax(-1, keepdims=True), -1)
    return np.moveaxis(found.reshape(*places, *[1] * len(dims)), ends, dims)


def _repeated_dims(array: Array) -> tuple[int, ...]:
    """Dimensions along which all elements are one in memory."""
    if not array.size:
        return ()
    sizes = zip(array.shape, array.strides, strict=True)
    return tuple([dim for dim, (size, stride) in enumerate(sizes) if stride == 0 and size > 1])
