"""Windows on a tensor: along a dimension (``narrow``, ``unfold``), or by sizes and strides (``as_strided``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....aliasing.strided import Geometry, root_array
from ....aliasing.strided import storage_offset as offset_of
from ....core.base import TensorBase, wrap
from ....core.batches import is_batched, skipped_elements
from ....core.bits import memory_of
from ....core.registry import F
from ....overriding.dispatch_classes import is_dispatching
from ....table.public import public
from ....tensors.convert import checked_dim


@public("narrow")
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    """``length`` entries of a dimension from ``start`` on."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = checked_dim(dim, input.ndim)
    if isinstance(start, TensorBase) and (start.ndim or start._sig.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    start = int(start)
    n = input.shape[axis]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return F._slice(input, dim, start, start + length, 1)


@public("unfold", function=False)
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """All windows of ``size`` elements along ``dimension``, as a view."""
    return F.unfold(self, dimension, size, step)


@public("as_strided")
def as_strided(input: Any, size: Any, stride: Any, storage_offset_: int | None = None, **kwargs: Any) -> Any:  # noqa: A002
    """A window with the given sizes, strides and offset on the tensor's storage."""
    own = offset_of(input)
    if is_dispatching(input):  # where its memory is, its class knows
        offset = kwargs.pop("storage_offset", storage_offset_)
        geometry = Geometry(tuple(input.shape), input.stride(), own)
        return F.as_strided(input, tuple(size), tuple(stride), offset, geometry)
    offset = checked_window(input, tuple(size), tuple(stride), kwargs.pop("storage_offset", storage_offset_))
    return F.as_strided(input, tuple(size), tuple(stride), offset, Geometry.of(input._array, own))


def checked_window(t: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int | None) -> int:
    """Where a window begins in the tensor's storage; ``RuntimeError`` in torch's words unless it lies in there.

    Within ``vmap`` offsets are those of the first entry, and a window on an entry must not reach beyond it.
    """
    skipped = skipped_elements(t)
    place = offset_of(t) if offset is None else int(offset) + skipped
    if len(size) == len(stride) and is_batched(t):
        _check_within_entry(t, Geometry(size, stride, place - skipped), skipped)
    _check_window(t, size, stride, place)
    return place


def _check_within_entry(t: Any, window: Geometry, skipped: int) -> None:
    if not window.extent():
        return
    own = Geometry.of(memory_of(t), offset_of(t) - skipped)
    if own.extent() and own.offset <= window.offset and window.end() <= own.end():
        return
    reach = (
        f"`result` can access some memory in range [{window.offset}, {window.end()}], but `tensor` can only access "
        f"some memory in range [{own.offset}, {own.end()}]"
        if own.extent()
        else "`tensor` has no storage but the passed-in (size, stride, storage_offset) imply a result with some storage"
    )
    raise RuntimeError(
        f"result = tensor.as_strided({list(window.shape)}, {list(window.strides)}, {window.offset}) can access memory "
        f"outside of `tensor`. {reach}. This is not supported inside of vmap, please try to rewrite the `as_strided` "
        "call as a sequence of PyTorch view operations"
    )


def _check_window(t: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}: negative size"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    root, item = root_array(t), t._array.itemsize  # a view may be of another dtype than its memory
    check_extent(size, stride, offset, Geometry.of(root, 0).extent() * root.itemsize // (item or 1), item)


def check_extent(size: tuple[int, ...], stride: tuple[int, ...], offset: int, whole: int, item: int) -> None:
    """``RuntimeError`` for a window that ends beyond the ``whole`` elements of ``item`` bytes that there are."""
    end = offset + Geometry(size, stride, 0).extent()
    if end > whole and 0 not in size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {end * item} are out of bounds for storage of size {whole * item}"
        )


@public("as_strided_scatter")
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:  # noqa: A002
    """A copy with ``src`` in a window given by sizes, strides and offset."""
    size, stride = tuple(size), tuple(stride)
    if 0 in input.stride():  # it is copied without repeated elements, to memory of its own
        input = input.clone()  # noqa: A001
    own = offset_of(input)
    begin = checked_window(input, size, stride, storage_offset) - own
    within = begin >= 0 and begin + Geometry(size, stride, 0).extent() <= input.numel()
    if input.is_contiguous() and within:
        return F._as_strided_scatter(input, src, size, stride, begin)
    if tuple(src.shape) != size:
        return F._as_strided_scatter(
            input.contiguous(), src, (*size, 1), (*stride, 1), 0
        )  # which says what does not fit
    places = _elements_at(input, size, stride, begin)
    kept = np.flatnonzero(places >= 0)
    written = src.reshape(-1).index_select(0, wrap(kept))
    whole = input if input.ndim else input.reshape(1)
    indices = [wrap(nrs) for nrs in np.unravel_index(places[kept], whole.shape)]
    return whole.index_put(indices, written).reshape(input.shape)


def _elements_at(t: Any, size: tuple[int, ...], stride: tuple[int, ...], begin: int) -> Any:
    """The elements of a tensor, counted row by row, that a window on its memory meets; -1: none, as in gaps."""
    here, there = (_distances(s, n) for s, n in ((t.stride(), tuple(t.shape)), (stride, size)))
    elements = {place: nr for nr, place in enumerate(here.tolist())}
    return np.array([elements.get(place + begin, -1) for place in there.tolist()], np.int64)


def _distances(strides: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """How far each element lies from the first one, row by row."""
    if not shape:
        return np.zeros(1, np.int64)
    return np.array(strides, np.int64) @ np.indices(shape, np.int64).reshape(len(shape), -1)
