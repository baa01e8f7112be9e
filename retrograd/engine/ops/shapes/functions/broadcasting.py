"""Expands tensors to a larger shape, or to their common one; ``sum_to_size`` is the reverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import size_mismatch
from ....core.registry import F
from ....core.size import Size
from ....execution.fit import is_expandable_to
from ....table.public import public
from .reshaping import ints_of, tensors_of


def broadcast_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Both tensors expanded to their common shape; unchanged where they have it."""
    if tuple(a.shape) == tuple(b.shape):
        return a, b
    try:
        shape = np.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    except ValueError:
        raise size_mismatch([tuple(a.shape), tuple(b.shape)], None) from None
    return _expanded(a, shape), _expanded(b, shape)


def _expanded(t: Any, shape: tuple[int, ...]) -> Any:
    return t if tuple(t.shape) == shape else F.expand(t, shape)


@public("expand", function=False)
def expand(self: Any, *size: Any, implicit: bool = False) -> Any:
    """Dimensions of size one repeated without copying; -1 keeps a size."""
    return F.expand(self, ints_of(size))


@public("expand_as", function=False)
def expand_as(self: Any, other: Any) -> Any:
    """``self.expand(other.size())``."""
    return F.expand(self, tuple(other.shape))


@public("broadcast_to")
def broadcast_to(input: Any, *size: Any) -> Any:  # noqa: A002
    """``input.expand(size)``."""
    return F.expand(input, ints_of(size))


@public("broadcast_tensors", method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors expanded to their common shape."""
    listed = tensors_of(tensors)
    try:
        shape = np.broadcast_shapes(*[tuple(t.shape) for t in listed])
    except ValueError as error:
        raise size_mismatch([tuple(t.shape) for t in listed], error) from None
    return tuple([t if t.shape == shape else F.expand(t, tuple(shape)) for t in listed])


@public("broadcast_shapes", method=False)
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that all the given ones broadcast to."""
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise _unlike_the_others(shapes) from None


def _unlike_the_others(shapes: tuple[Any, ...]) -> Exception:
    """What PyTorch says of the first shape that does not broadcast with those before it."""
    whole = [1] * max([1 if isinstance(shape, int) else len(shape) for shape in shapes])
    for number, shape in enumerate(shapes):
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        for place in range(-1, -len(sizes) - 1, -1):
            if sizes[place] < 0:
                return ValueError("Attempting to broadcast a dimension with negative length!")
            if 1 not in (sizes[place], whole[place]) and sizes[place] != whole[place]:
                return RuntimeError(
                    f"Attempting to broadcast a dimension of length {sizes[place]} at {place}! Mismatching argument "
                    f"at index {number} had {sizes}; but expected shape should be broadcastable to {whole}"
                )
            whole[place] = max(whole[place], sizes[place]) if whole[place] == 1 else whole[place]
    return RuntimeError("broadcast_shapes(): the shapes do not broadcast")


@public("sum_to_size", function=False)
def sum_to_size(self: Any, *size: Any) -> Any:
    """Summed down to a size that broadcasts to the tensor's."""
    shape = ints_of(size)
    if not is_expandable_to(shape, tuple(self.shape)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    if size == ((),) and not self.ndim:
        return self.sum()
    return self if shape == tuple(self.shape) else F.sum_to_size(self, shape)
