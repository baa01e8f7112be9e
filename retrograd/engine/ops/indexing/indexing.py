"""Reading and writing by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied_with, dense_strides, fastest_first
from ...aliasing.strided import contiguous_strides, element_strides
from ...core.base import TensorBase
from ...core.dtypes import scalar_name
from ...core.registry import F
from ...execution.fit import is_expandable_to
from ...table.rows import linear
from ...warning import warn


def _places(indices: Any) -> tuple[Any, ...]:
    """Indices as arrays, those of bytes as masks; between them are slices, for whole dimensions.

    They come as tensors, or as arrays where a node read what it had saved that way.
    """
    return tuple([_place(part._array if isinstance(part, TensorBase) else part) for part in indices])


def _place(part: Any) -> Any:
    if part.__class__ is not np.ndarray or part.dtype.char != "B":
        return part
    warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return part.astype(bool)


def _index(self: Any, indices: Any) -> Any:
    places = _places(indices)
    try:
        found = np.array(self[places], order="C")
    except IndexError as error:
        if not self.size:
            return _of_nothing(self, places)
        raise IndexError(str(error).replace("axis", "dimension").replace("arrays", "tensors")) from None
    if found.ndim < 2 or not found.size or self.flags.c_contiguous:
        return found
    strides = _gone_through(self, places, found.shape)
    return found if strides == element_strides(found) else copied_with(strides, found)


def _gone_through(self: Any, places: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of what is read of an array: in the order of its dimensions, those that are looked up where they come."""
    parts: list[Any] = []
    for part in places:
        is_mask = part.__class__ is np.ndarray and part.dtype.kind == "b"
        parts += np.nonzero(part) if is_mask else [part]
    arrays = [i for i, part in enumerate(parts) if part.__class__ is np.ndarray]
    if not arrays or any(part != slice(None) for i, part in enumerate(parts) if i not in arrays):
        return contiguous_strides(shape)
    looked_up = np.broadcast_shapes(*[parts[i].shape for i in arrays])
    own = [stride if size > 1 else 0 for size, stride in zip(self.shape, element_strides(self), strict=True)]
    is_block = arrays[-1] - arrays[0] + 1 == len(arrays)
    before = own[: arrays[0]] if is_block else []
    after = [stride for i, stride in enumerate(own) if i not in arrays][len(before) :]
    source = (*before, *[0] * len(looked_up), *after)
    found = (*[0] * len(before), *contiguous_strides(looked_up), *[0] * len(after))
    return dense_strides(shape, fastest_first(shape, [source, found]))


def _of_nothing(self: Any, places: tuple[Any, ...]) -> Any:
    """What is read of an array without elements: places are asked for nothing but to be none where there are none."""
    safe, dim = [], 0
    for part in places:
        is_mask = part.__class__ is np.ndarray and part.dtype.kind == "b"
        if part.__class__ is np.ndarray and not is_mask:
            if part.size and not self.shape[dim]:
                raise IndexError("index is out of bounds for dimension with size 0")
            part = np.zeros_like(part)
        safe.append(part)
        dim += part.ndim if is_mask else 1
    return np.array(self[tuple(safe)])


def _index_back(g: Any, self_sizes: Any, indices: Any) -> Any:
    return F._index_backward(g, tuple(self_sizes), indices)


def _index_backward(g: Any, sizes: tuple[int, ...], indices: Any) -> Any:
    out = np.zeros(sizes, g.dtype)
    np.add.at(out, _places(indices), g)
    return out


linear(
    "_index",
    _index,
    node="IndexBackward0",
    as_given=True,
    tensors="self",
    self=_index_back,
    arrays="indices*",
    reorders=True,
)
linear("_index_backward", _index_backward, node="IndexPutImplBackward0", tensors="g",
       g=lambda g, indices: F._index(g, indices))  # fmt: skip


def _check_fits(values: Any, shape: tuple[int, ...]) -> None:
    """``RuntimeError`` for values that cannot be broadcast to the part that they are to fill."""
    if not is_expandable_to(values.shape, shape):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        )


def _index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """``self`` with ``values`` written (or added) at ``indices``."""
    out, places = self.copy(), _places(indices)
    if isinstance(values, np.ndarray) and values.dtype != self.dtype:
        if self.size:
            _check_fits(values, self[places].shape)
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name(self.dtype)} for the destination and {scalar_name(values.dtype)} for the source."
        )
    values = np.asarray(values).astype(self.dtype, copy=False)
    try:
        if accumulate:
            np.add.at(out, places, values)
        else:
            out[places] = values
    except ValueError:
        _check_fits(values, self[places].shape)
        raise
    except IndexError as error:
        if not self.size:
            _of_nothing(self, places)
            return out
        raise IndexError(str(error).replace("axis", "dimension").replace("arrays", "tensors")) from None
    return out


def _values_back(g: Any, indices: Any, values_sizes: Any) -> Any:
    """The gradient of written values, which may have had more leading ones than the places."""
    picked = F._index(g, indices)
    extra = len(values_sizes) - len(picked.shape)
    if extra <= 0:
        return picked
    return F.reshape(F.sum_to_size(picked, tuple(values_sizes)[extra:]), tuple(values_sizes))


def _index_put_self(g: Any, indices: Any, accumulate: bool) -> Any:
    return g if accumulate else F._index_put(g, indices, 0.0)


linear(
    "_index_put", _index_put, node="IndexPutBackward0", tensors="self values", inplace=True,
    self=_index_put_self, values=_values_back, arrays="indices*", layout="copy",
)  # fmt: skip
