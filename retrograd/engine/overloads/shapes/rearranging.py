"""Flipping, repeating, diagonals, triangles, padding and stacking with torch's overloads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...aliasing.strided import storage_offset as offset_of
from ...calls.refusals import refuse_kind
from ...execution.fit import is_expandable_to
from ...table.public import check_tensor, public
from ...table.registry import F
from ...tensors.base import TensorBase, wrap
from ...tensors.convert import checked_dim
from ...tensors.dtypes import Size, get_default_dtype
from .shaping import check_extent


def ints_of(values: tuple[Any, ...]) -> tuple[int, ...]:
    """``(0, 1)`` or ``((0, 1),)`` as a tuple of ints."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = tuple(values[0])
    return tuple(int(v) for v in values)


@public("flip")
def flip(input: Any, *dims: Any) -> Any:  # noqa: A002
    """Elements in reverse order along ``dims``."""
    check_tensor("flip", input)
    return F.flip(input, ints_of(dims))


@public("fliplr")
def fliplr(input: Any) -> Any:  # noqa: A002
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return F.flip(input, (1,))


@public("flipud")
def flipud(input: Any) -> Any:  # noqa: A002
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return F.flip(input, (0,))


@public("roll")
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:  # noqa: A002
    """Elements moved on along ``dims`` (or in flat order), coming in again at the start."""
    check_tensor("roll", input)
    shifts = ints_of((shifts,))
    axes = () if dims is None else ints_of((dims,))
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(axes) != len(shifts) and (axes or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(axes)}")
    return F.roll(input, shifts, axes)


@public("repeat", function=False)
def repeat(self: Any, *repeats: Any) -> Any:
    """The tensor repeated along each dimension."""
    return F.repeat(self, ints_of(repeats))


@public("tile")
def tile(input: Any, *dims: Any) -> Any:  # noqa: A002
    """The tensor repeated; missing leading repeats count as 1."""
    repeats = ints_of(dims)
    return F.repeat(input, (1,) * (input.ndim - len(repeats)) + repeats)


@public("repeat_interleave")
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: Any = None, *, output_size: Any = None  # noqa: A002
) -> Any:  # fmt: skip
    """Each element repeated, along ``dim`` or flat; ``repeats`` is a number or a tensor of counts."""
    found = _repeated(input, repeats, dim)
    axis = 0 if dim is None or not found.ndim else dim
    if output_size is not None and output_size != found.shape[axis]:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {found.shape[axis]} but got {output_size}: allocated "
            "size does not match required size"
        )
    return found


def _repeated(input: Any, repeats: Any, dim: Any) -> Any:  # noqa: A002
    """Elements repeated one by one; ``repeats`` alone gives the indices that do it."""
    if repeats is None or input is None:
        counts = (repeats if input is None else input)._array
        return wrap(np.repeat(np.arange(counts.size), counts))
    if isinstance(repeats, (list, tuple)):
        repeats = wrap(np.asarray(repeats, np.int64))
    if dim is None:
        input, dim = input.reshape(-1) if input.ndim != 1 else input, 0  # noqa: A001
    axis = checked_dim(dim, input.ndim)
    if isinstance(repeats, TensorBase):
        refuse_kind("repeat_interleave_cpu", repeats._sig.numpy, "iu")
        if repeats.ndim > 1:
            raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
        if (repeats._array < 0).any():
            raise RuntimeError("repeats can not be negative")
    if isinstance(repeats, TensorBase) and repeats.numel() != 1:
        return _repeat_each(input, repeats._array, axis)
    count = int(repeats.item() if isinstance(repeats, TensorBase) else repeats)
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    if not input.ndim:
        return F.expand(input, (count,)).clone()
    shape = tuple(input.shape)
    wide = F.expand(F.unsqueeze(input, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return F._view(F._contiguous_copy(wide), (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _repeat_each(input: Any, counts: Any, axis: int) -> Any:  # noqa: A002
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size != input.shape[axis]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({axis}) = {input.shape[axis]}"
        )
    return F.index_select(input, axis, wrap(np.repeat(np.arange(counts.size), counts)))


@public("unfold", function=False)
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """All windows of ``size`` elements along ``dimension``, as a view."""
    return F.unfold(self, dimension, size, step)


# -- diagonals


@public("diag", out=True)
def diag(input: Any, diagonal: int = 0) -> Any:  # noqa: A002
    """A vector on the diagonal of a matrix, or a copy of a matrix's diagonal."""
    check_tensor("diag", input)
    if input.ndim == 1:
        return F.diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return F._diagonal_copy(input, diagonal, 0, 1)


@public("diagflat")
def diagflat(input: Any, offset: int = 0) -> Any:  # noqa: A002
    """All elements on the diagonal of a matrix."""
    return F.diag_embed(input.reshape(-1), offset)


@public("sum_to_size", function=False)
def sum_to_size(self: Any, *size: Any) -> Any:
    """Summed down to a size that broadcasts to the tensor's."""
    shape = ints_of(size)
    if not is_expandable_to(shape, tuple(self.shape)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    return self if shape == tuple(self.shape) else F.sum_to_size(self, shape)


@public("fill_diagonal_", function=False)
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write one value on the main diagonal; in tall matrices with ``wrap`` on its repetitions, too."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    size = min(self.shape)
    self.as_strided((size,), (step,), self.storage_offset()).fill_(fill_value)
    rows, columns = self.shape[0], self.shape[1]
    if wrap and self.ndim == 2 and rows > columns + 1:
        left = self.numel() - (columns + 1) * columns
        more = -(-left // (columns + 1))
        self.as_strided((more,), (step,), self.storage_offset() + (columns + 1) * columns).fill_(fill_value)
    return self


@public("as_strided_scatter")
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:  # noqa: A002
    """A copy with ``src`` in a window given by sizes, strides and offset."""
    offset = 0 if storage_offset is None else storage_offset - offset_of(input)
    check_extent(tuple(size), tuple(stride), offset, input.numel(), input._array.itemsize)
    return F._as_strided_scatter(input, src, tuple(size), tuple(stride), offset)


for _name in ("tril", "triu"):

    def _indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None,
        _name: str = _name,
    ) -> Any:  # fmt: skip
        for place, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{place} must be non-negative, got {n}")
        lower = np.tri(row, col, offset if _name == "tril" else offset - 1, dtype=bool)
        found = wrap(np.stack(np.nonzero(lower if _name == "tril" else ~lower)).astype(np.int64))
        return found if dtype is None else found.to(dtype)

    _indices.__name__ = f"{_name}_indices"
    _indices.__doc__ = f"Rows and columns of the elements that {_name} keeps."
    public(f"{_name}_indices", method=False)(_indices)


# -- joining


def _tensors_of(tensors: tuple[Any, ...]) -> list[Any]:
    """The arguments of a function that takes tensors, but no list of them."""
    for i, t in enumerate(tensors):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return list(tensors[0])
    return list(tensors)


def _at_least(name: str, ndim: int) -> Any:
    def call(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return tuple(_raised(t, ndim) for t in tensors[0])
        raised = tuple(_raised(t, ndim) for t in tensors)
        return raised[0] if len(tensors) == 1 else raised

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Tensors with at least {ndim} dimension(s)."
    return public(name, method=False)(call)


def _raised(t: Any, ndim: int) -> Any:
    check_tensor(f"atleast_{ndim}d", t)
    if t.ndim >= ndim:
        return t
    if t.ndim == 0:
        return t.reshape((1,) * ndim)
    if ndim == 2:
        return F.unsqueeze(t, 0)
    return F.unsqueeze(F.unsqueeze(t, 0) if t.ndim == 1 else t, -1)


for _n in (1, 2, 3):
    _at_least(f"atleast_{_n}d", _n)


def _some(name: str, tensors: Any) -> list[Any]:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return list(tensors)


@public("hstack", method=False, out=True)
def hstack(tensors: Any) -> Any:
    """Join along the second dimension (vectors along the first)."""
    raised = [_raised(t, 1) for t in _some("hstack", tensors)]
    return F.cat(raised, 0 if raised[0].ndim == 1 else 1)


@public("vstack", method=False, out=True)
def vstack(tensors: Any) -> Any:
    """Join rows."""
    return F.cat([_raised(t, 2) for t in _some("vstack", tensors)], 0)


public("row_stack", method=False, out=True)(vstack)


@public("dstack", method=False, out=True)
def dstack(tensors: Any) -> Any:
    """Join along the third dimension."""
    return F.cat([_raised(t, 3) for t in _some("dstack", tensors)], 2)


@public("column_stack", method=False, out=True)
def column_stack(tensors: Any) -> Any:
    """Join columns; vectors count as columns."""
    columns = [t.reshape(t.numel(), 1) if t.ndim <= 1 else t for t in _some("column_stack", tensors)]
    return F.cat(columns, 1)


@public("block_diag", method=False)
def block_diag(*tensors: Any) -> Any:
    """A matrix with the given ones along its diagonal."""
    if not tensors:
        return wrap(np.zeros((1, 0), get_default_dtype().numpy))
    return F._block_diag(_tensors_of(tensors))


def _split_along(name: str, dim: int, least: int) -> Any:
    """The public function ``hsplit``, ``vsplit`` or ``dsplit``."""

    def call(input: Any, indices_or_sections: Any) -> Any:  # noqa: A002
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} "
                "dimensions!"
            )
        axis = 0 if name == "hsplit" and input.ndim == 1 else dim
        if isinstance(indices_or_sections, int) and (
            indices_or_sections == 0 or input.shape[axis] % indices_or_sections
        ):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
                f"{input.shape[axis]} is not divisible by the split_size {indices_or_sections}!"
            )
        return input.tensor_split(indices_or_sections, axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Pieces along dimension {dim}."
    return public(name, also={"indices": "indices_or_sections", "sections": "indices_or_sections"})(call)


for _name, _dim, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    _split_along(_name, _dim, _least)


@public("broadcast_tensors", method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors expanded to their common shape."""
    listed = _tensors_of(tensors)
    shape = broadcast_shapes(*[tuple(t.shape) for t in listed])
    return tuple([t if t.shape == shape else F.expand(t, tuple(shape)) for t in listed])


@public("broadcast_shapes", method=False)
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that all the given ones broadcast to."""
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape: " + ", ".join(map(str, shapes))
        ) from None


@public("meshgrid", method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates; ``indexing`` is ``"ij"`` (the default) or ``"xy"``."""
    listed = _listed(tensors)
    if not listed:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if len({t._sig.numpy for t in listed}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swapped = indexing == "xy" and len(listed) >= 2
    if swapped:
        listed[:2] = listed[1::-1]
    for t in listed:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
    shape = tuple(t.numel() for t in listed)
    grids = [F.expand(F._view(t, (1,) * i + (-1,) + (1,) * (len(listed) - i - 1)), shape) for i, t in enumerate(listed)]
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@public("cartesian_prod", method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of elements of the given vectors, as rows."""
    listed = _tensors_of(tensors)
    for t in listed:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(listed) == 1:
        return listed[0]
    return F.stack([g.reshape(-1) for g in meshgrid(*listed, indexing="ij")], 1)


@public("combinations", method=False)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:  # noqa: A002
    """All ways to choose ``r`` elements of a vector, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r == 0:
        return wrap(np.zeros(0, input._sig.numpy))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.asarray(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    return F._index(input, (rows,))
