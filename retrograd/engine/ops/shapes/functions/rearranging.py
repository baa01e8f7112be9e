"""Elements in another order, several times over, or joined: transposes, flips, repeats, stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse_kind
from ....core.base import TensorBase, wrap
from ....core.dtypes import get_default_dtype
from ....core.layouts import contiguous_format
from ....core.registry import F
from ....deprecations import discourage
from ....table.public import FUNCTIONS, check_tensor, property_, public
from ....tensors.convert import checked_dim
from .reshaping import ints_of, tensors_of

# Dimensions in another order: `permute`, `movedim`, `T`, `mT`; and conjugated: `H`, `mH`, `adjoint`.


@public("permute")
def permute(input: Any, *dims: Any) -> Any:  # noqa: A002
    """Dimensions in another order."""
    return F._permute(input, ints_of(dims))


@public("movedim")
def movedim(input: Any, source: Any, destination: Any) -> Any:  # noqa: A002
    """Dimensions moved to other places, the rest in their order."""
    source = (source,) if isinstance(source, int) else source
    destination = (destination,) if isinstance(destination, int) else destination
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    sources = [checked_dim(d, input.ndim) for d in source]
    places = [checked_dim(d, input.ndim) for d in destination]
    for name, dims, given in (("source", sources, source), ("destination", places, destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not input.ndim:
        return F._permute(input, ())
    order = [d for d in range(input.ndim) if d not in sources]
    for place, s in sorted(zip(places, sources, strict=True)):
        order.insert(place, s)
    return F._permute(input, tuple(order))


public("moveaxis")(movedim)


@property_("T")
def transposed(self: Any) -> Any:
    """All dimensions reversed."""
    if self.ndim != 2:
        discourage("T")
    return F._permute(self, tuple(reversed(range(self.ndim))))


@property_("mT")
def matrix_transposed(self: Any) -> Any:
    """The last two dimensions exchanged; a number is its own transpose."""
    if not self.ndim:
        return self
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return F.transpose(self, -2, -1)


@public("adjoint")
def adjoint(input: Any) -> Any:  # noqa: A002
    """The conjugate transpose of matrices."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    return FUNCTIONS["conj"](F.transpose(input, -2, -1) if input.ndim else input)


@property_("mH")
def matrix_adjoint(self: Any) -> Any:
    """The conjugate transpose of matrices."""
    return adjoint(self)


@property_("H")
def hermitian_transpose(self: Any) -> Any:
    """The conjugate transpose of a matrix."""
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    if not self.ndim:
        discourage("H")
    return adjoint(self)


# Elements in another order along dimensions: flips and rolls.


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
    """Elements shifted along ``dims`` (or in flat order), with wrap-around."""
    check_tensor("roll", input)
    shifts = ints_of((shifts,))
    axes = () if dims is None else ints_of((dims,))
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(axes) != len(shifts) and (axes or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(axes)}")
    if axes and not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return F.roll(input, shifts, axes)


# Elements or whole tensors several times over.


@public("repeat", function=False)
def repeat(self: Any, *repeats: Any) -> Any:
    """The tensor repeated along each dimension."""
    counts = ints_of(repeats)
    if any(n < 0 for n in counts):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(counts)}: repeats are {counts}")
    return F.repeat(self, counts)


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
    if isinstance(repeats, TensorBase) and (input.ndim or repeats.numel() != 1):
        counts = repeats._array
        return _repeat_each(input, np.repeat(counts, input.shape[axis]) if counts.size == 1 else counts, axis)
    count = int(repeats.item() if isinstance(repeats, TensorBase) else repeats)
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    if not input.ndim:
        return F.expand(input, (count,)).clone()
    shape = tuple(input.shape)
    wide = F.expand(F.unsqueeze(input, axis + 1), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    return F._view(F.clone(wide, contiguous_format), (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _repeat_each(input: Any, counts: Any, axis: int) -> Any:  # noqa: A002
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size != input.shape[axis]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({axis}) = {input.shape[axis]}"
        )
    return F.index_select(input, axis, wrap(np.repeat(np.arange(counts.size), counts)))


# Tensors joined along rows, columns and blocks, given the dimensions they lack.


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
    return F._block_diag(tensors_of(tensors))
