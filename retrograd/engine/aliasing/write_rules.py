"""What may be written: leaves and views, tensors whose elements share memory, and tensors that are read as well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ..core.base import LAZY, Array, CreationTag, TensorBase, is_inference
from ..switches.state import STATE
from ..warning import warn
from .strided import address, partly_overlaps
from .views import forbidden_view_message, grad_fn_of, requires_grad

# What autograd forbids to write: leaves that require grad, and views whose history it could not rewrite.


def check_inplace(t: TensorBase, records: bool) -> None:
    """Refuse a write that autograd forbids; ``records`` says whether the result would require grad."""
    if is_inference(t):
        if not STATE.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
                "a normal tensor before doing inplace update."
            )
        return
    if not (records and STATE.grad_enabled):
        return
    meta = t._meta
    view = meta.view if meta is not None else None
    if view is not None:
        if view.tag != CreationTag.DEFAULT:
            raise RuntimeError(forbidden_view_message(view, "is being"))
        if requires_grad(t) and grad_fn_of(view.base) is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. "
                "Write to a clone instead, or wrap an intended update of the leaf in torch.no_grad()."
            )
    if t._fn is LAZY and requires_grad(t) and grad_fn_of(t) is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. "
            "Write the out-of-place form, or wrap an intended update of the leaf in torch.no_grad()."
        )


# Writes into tensors whose elements share memory: which are refused, which are allowed, and their results.

TOLERATED: Final = {
    "_index_put": "index_put_",
    "_index_fill_number": "index_fill_",
    "_index_fill_tensor": "index_fill_",
    "masked_fill": "masked_fill_",
    "_masked_fill_tensor": "masked_fill_",
}
"""Row -> name of the functions that write to expanded tensors all the same, as gradients of a sum often are."""
_APART: Final = frozenset({
    "_index_add", "index_copy", "_index_reduce", "_scatter", "_scatter_number", "scatter_add", "_scatter_reduce",
    "_scatter_with", "_index_put", "put", "_index_fill_number", "_index_fill_tensor", "take", "index_select", "gather",
    "cat", "masked_select", "stack", "hstack", "vstack", "dstack", "column_stack", "kron", "cross", "take_along_dim",
})  # fmt: skip
"""What reads where it may have written already, so that not even the written tensor itself may be read."""
_CARELESS: Final = frozenset({"masked_scatter", "mm", "addmm", "addmv", "bmm", "tril", "triu", "sum"})
"""What PyTorch lets write where it reads in part; here a result is computed before it is written."""


def reads_apart(name: str) -> bool:
    """Whether the operator of this name may not write to what it reads, whatever shape that gets."""
    return name in _APART


def check_operands(name: str, array: Array, operands: Iterable[Any]) -> None:
    """Refuse writes to an array that the operator of this name reads, too: in part or, of some, at all."""
    apart = reads_apart(name)
    for other in () if name in _CARELESS else operands:
        read = other._array
        if (apart and _is_same(array, read)) or (read is not array and partly_overlaps(array, read)):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _is_same(a: Array, b: Array) -> bool:
    """Whether two arrays have some elements and they are the same ones."""
    return bool(a.size) and (a is b or (a.strides == b.strides and a.shape == b.shape and address(a) == address(b)))


def check_repeated(array: Array) -> None:
    """Refuse writes to an array whose elements share memory."""
    if _repeated_dims(array):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def last_written(name: str, old: Array, new: Array, adds: bool = False) -> Array:
    """What the memory of ``old`` holds after a tolerated write that makes it ``new``: the last change of each place, or
    all of them where the write ``adds`` to what is there.

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
    if adds:
        total = before[..., :1] + (after - before).sum(-1, keepdims=True)
        return np.moveaxis(total.reshape(*places, *[1] * len(dims)), ends, dims)
    changed = (before != after) & ~((before != before) & (after != after))  # NaN stays NaN
    found = np.take_along_axis(after, changed.argmax(-1, keepdims=True), -1)
    return np.moveaxis(found.reshape(*places, *[1] * len(dims)), ends, dims)


def _repeated_dims(array: Array) -> tuple[int, ...]:
    """Dimensions along which all elements are one in memory."""
    if not array.size:
        return ()
    sizes = zip(array.shape, array.strides, strict=True)
    return tuple([dim for dim, (size, stride) in enumerate(sizes) if stride == 0 and size > 1])
