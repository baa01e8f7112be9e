"""Windows on a tensor: along a dimension (``narrow``, ``unfold``), or by sizes and strides (``as_strided``)."""

from __future__ import annotations

from typing import Any

from ...aliasing.strided import Geometry
from ...aliasing.strided import storage_offset as offset_of
from ...aliasing.versions import storage_of
from ...overriding.dispatch_classes import is_dispatching
from ...table.public import public
from ...table.registry import F
from ...tensors.base import TensorBase
from ...tensors.convert import checked_dim


@public("narrow")
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    """``length`` entries of a dimension from ``start`` on."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = checked_dim(dim, input.ndim)
    if isinstance(start, TensorBase) and (start.ndim or start._sig.numpy.kind not in "iu"):
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
    offset = kwargs.pop("storage_offset", storage_offset_)
    offset = own if offset is None else int(offset)
    check_window(input, tuple(size), tuple(stride), offset)
    return F.as_strided(input, tuple(size), tuple(stride), offset, Geometry.of(input._array, own))


def check_window(t: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    """``RuntimeError`` in torch's words unless sizes, strides and offset lie in the tensor's storage."""
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
    check_extent(size, stride, offset, Geometry.of(storage_of(t).root, 0).extent(), t._array.itemsize)


def check_extent(size: tuple[int, ...], stride: tuple[int, ...], offset: int, whole: int, item: int) -> None:
    """``RuntimeError`` for a window that ends beyond the ``whole`` elements of ``item`` bytes that there are."""
    end = offset + Geometry(size, stride, 0).extent()
    if end > whole:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {end * item} are out of bounds for storage of size {whole * item}"
        )


@public("as_strided_scatter")
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:  # noqa: A002
    """A copy with ``src`` in a window given by sizes, strides and offset."""
    offset = 0 if storage_offset is None else storage_offset - offset_of(input)
    check_extent(tuple(size), tuple(stride), offset, input.numel(), input._array.itemsize)
    return F._as_strided_scatter(input, src, tuple(size), tuple(stride), offset)
