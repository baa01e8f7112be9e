"""Shapes, views, joining and splitting with torch's overloads."""

from __future__ import annotations

import itertools
from typing import Any

from ...aliasing.inplace import bump_version
from ...aliasing.strided import Geometry
from ...aliasing.strided import storage_offset as offset_of
from ...aliasing.views import check_inplace, gradient_edge, requires_grad, set_history
from ...forward_mode.forward_ad import keep_tangent, tangent_of
from ...ops.shape import can_view, checked_size
from ...table.public import check_tensor, public
from ...table.registry import COMPOSITES, OPS, F
from ...tensors.base import TensorBase, bits_of, mark, memory_of, set_array, storage_of, type_name_of
from ...tensors.convert import checked_dim
from ...tensors.dtypes import Size, scalar_name
from ...tensors.dtypes import dtype as dtype_class
from .reinterpreting import seen_as


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """``(2, 3)``, ``((2, 3),)`` or ``(torch.Size,)`` as a tuple of ints."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return tuple(map(int, size[0]))
    return tuple(map(int, size))


@public("view", function=False)
def view(self: Any, *size: Any, dtype: Any = None) -> Any:
    """The same data in another shape, without copying; ``RuntimeError`` when strides forbid it.

    With a dtype instead of sizes the same bytes as numbers of that type, without history.
    """
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtype_class)):
        return seen_as(self, (size[0] if dtype is None else dtype).numpy)
    if not size or isinstance(size[0], (str, float)):
        given = ", ".join([type_name_of(s) for s in size])
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({given}), but expected a dtype or sizes"
        )
    return F._view(self, _sizes(size))


@public("view_as", function=False)
def view_as(self: Any, other: Any) -> Any:
    """``self.view(other.size())``."""
    return F._view(self, tuple(other.shape))


@public("reshape")
def reshape(input: Any, *shape: Any) -> Any:  # noqa: A002
    """The same data in another shape, as a view when possible."""
    check_tensor("reshape", input)
    array = input._array
    size = checked_size(_sizes(shape), array.size)
    if can_view(array, size):
        return F._view(input, size) if array.flags.c_contiguous else F._reshape_alias(input, size)
    return F._unsafe_view(F.clone(input), size)


COMPOSITES["reshape"] = reshape


@public("reshape_as", function=False)
def reshape_as(self: Any, other: Any) -> Any:
    """``self.reshape(other.size())``."""
    return reshape(self, tuple(other.shape))


@public("flatten")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:  # noqa: A002
    """Dimensions ``start_dim`` to ``end_dim`` joined into one."""
    check_tensor("flatten", input)
    start, end = checked_dim(start_dim, input.ndim), checked_dim(end_dim, input.ndim)
    if input.ndim == 0:
        return reshape(input, (1,))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    shape = tuple(input.shape)
    return reshape(input, (*shape[:start], Size(shape[start : end + 1]).numel(), *shape[end + 1 :]))


@public("ravel")
def ravel(input: Any) -> Any:  # noqa: A002
    """All elements in one dimension."""
    return F._view(contiguous(input), (-1,))


@public("unflatten")
def unflatten(input: Any, dim: int, sizes: Any) -> Any:  # noqa: A002
    """One dimension divided into several."""
    axis = checked_dim(dim, input.ndim)
    if not input.ndim:
        raise RuntimeError(f"unflatten got an unexpected error: dim {dim} of a tensor that has no dimensions")
    if not len(sizes):
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = tuple(input.shape)
    return F._view(input, (*shape[:axis], *checked_size(sizes, shape[axis]), *shape[axis + 1 :]))


@public("permute")
def permute(input: Any, *dims: Any) -> Any:  # noqa: A002
    """Dimensions in another order."""
    return F._permute(input, _sizes(dims))


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
    for name, dims in (("source", sources), ("destination", places)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if not input.ndim:
        return F._permute(input, ())
    order = [d for d in range(input.ndim) if d not in sources]
    for place, s in sorted(zip(places, sources, strict=True)):
        order.insert(place, s)
    return F._permute(input, tuple(order))


public("moveaxis")(movedim)


@public("expand", function=False)
def expand(self: Any, *size: Any, implicit: bool = False) -> Any:
    """Dimensions of size one repeated without copying; -1 keeps a size."""
    return F.expand(self, _sizes(size))


@public("expand_as", function=False)
def expand_as(self: Any, other: Any) -> Any:
    """``self.expand(other.size())``."""
    return F.expand(self, tuple(other.shape))


@public("broadcast_to")
def broadcast_to(input: Any, *size: Any) -> Any:  # noqa: A002
    """``input.expand(size)``."""
    return F.expand(input, _sizes(size))


@public("squeeze")
def squeeze(input: Any, *dim: Any) -> Any:  # noqa: A002
    """Without dimensions of size one (all of them, or those given)."""
    check_tensor("squeeze", input)
    return OPS[_squeeze_row(dim)](input, *_squeezed(dim))


@public("narrow")
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    """``length`` entries of a dimension from ``start`` on."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = checked_dim(dim, input.ndim)
    start = int(start)
    n = input.shape[axis]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if length < 0 or start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return F._slice(input, axis, start, start + length, 1)


@public("as_strided")
def as_strided(input: Any, size: Any, stride: Any, storage_offset_: int | None = None, **kwargs: Any) -> Any:  # noqa: A002
    """A window with the given sizes, strides and offset on the tensor's storage."""
    own = offset_of(input)
    offset = kwargs.pop("storage_offset", storage_offset_)
    offset = own if offset is None else int(offset)
    _check_window(input, tuple(size), tuple(stride), offset)
    return F.as_strided(input, tuple(size), tuple(stride), offset, Geometry.of(input._array, own))


def _check_window(t: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}: negative size"
        )
    if any(s < 0 for s in stride) or offset < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    check_extent(size, stride, offset, Geometry.of(storage_of(t).root, 0).extent(), t._array.itemsize)


def check_extent(size: tuple[int, ...], stride: tuple[int, ...], offset: int, whole: int, item: int) -> None:
    """``RuntimeError`` for a window that ends beyond the ``whole`` elements of ``item`` bytes that there are."""
    end = offset + Geometry(size, stride, 0).extent()
    if end > whole:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {end * item} are out of bounds for storage of size {whole * item}"
        )


# -- several at once


@public("tensor_split", also={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:  # noqa: A002
    """Pieces at given places, or a given number of them; each is an ordinary slice."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = checked_dim(dim, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, TensorBase):
        what = "tensor_split expected tensor_indices_or_sections to"
        if indices_or_sections._sig.numpy.name != "int64":
            raise RuntimeError(f"{what} have dtype of long, but got {scalar_name(indices_or_sections._sig.numpy)}")
        if indices_or_sections.ndim > 1:
            raise RuntimeError(
                f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with "
                f"{indices_or_sections.ndim} dims"
            )
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        small, extra = divmod(n, indices_or_sections)
        widths = [small + (i < extra) for i in range(indices_or_sections)]
        points = [0]
        for w in widths:
            points.append(points[-1] + w)
    else:
        points = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(F._slice(input, axis, a, b, 1) for a, b in itertools.pairwise(points))


# -- contiguous


def check_memory_format(t: Any, memory_format: Any) -> None:
    """``RuntimeError`` for ``channels_last`` on a tensor that is no batch of images."""
    if str(memory_format) == "torch.channels_last" and t.ndim != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")


@public("contiguous", function=False)
def contiguous(self: Any, memory_format: Any = None) -> Any:
    """Row-major; the tensor itself when it is so already."""
    check_memory_format(self, memory_format)
    if memory_of(self).flags.c_contiguous:
        return self
    return F._contiguous_copy(self)


# -- in-place changes of shape


_IN_PLACE = {
    name: OPS[name].with_node(node)
    for name, node in {
        "t": "TBackward1",
        "transpose": "TransposeBackward1",
        "unsqueeze": "UnsqueezeBackward1",
        "_squeeze": "SqueezeBackward3",
        "_squeeze_dim": "SqueezeBackward4",
        "_squeeze_dims": "SqueezeBackward5",
        "as_strided": "AsStridedBackward1",
    }.items()
}


def _squeeze_row(dim: tuple[Any, ...]) -> str:
    """Torch has three squeezes: of all dimensions, of one, of several."""
    if not dim:
        return "_squeeze"
    return "_squeeze_dim" if len(dim) == 1 and isinstance(dim[0], int) else "_squeeze_dims"


def _squeezed(dim: tuple[Any, ...]) -> tuple[Any, ...]:
    """The argument of that row: several dimensions are given one by one or as one list."""
    return dim if len(dim) < 2 else (dim,)


def _reshape_in_place(self: Any, row: str, *args: Any) -> Any:
    """Give a tensor the shape of one of its views, and that view's place in the graph."""
    check_inplace(self, requires_grad(self))
    op = _IN_PLACE[row]
    view = self._meta.view if self._meta is not None else None
    edge = gradient_edge(self)
    made = op(self, *args)
    array, bits = memory_of(made), bits_of(made)
    new_edge = gradient_edge(made) if edge is not None else None
    tangent = tangent_of(made)
    if tangent is not None:
        keep_tangent(self, tangent)
    set_array(self, array)
    mark(self, bits)
    bump_version(self)
    if view is not None:
        version = view.version if new_edge is None else storage_of(self).version
        self._meta.view = made._meta.view
        self._meta.view.fn, self._meta.view.version = new_edge, version
    elif new_edge is not None:
        set_history(self, new_edge)
    return self


@public("transpose_", function=False)
def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """In-place transpose."""
    return _reshape_in_place(self, "transpose", dim0, dim1)


public("swapaxes_", function=False)(transpose_)
public("swapdims_", function=False)(transpose_)


@public("t_", function=False)
def t_(self: Any) -> Any:
    """In-place matrix transpose."""
    return _reshape_in_place(self, "t")


@public("squeeze_", function=False)
def squeeze_(self: Any, *dim: Any) -> Any:
    """In-place squeeze."""
    return _reshape_in_place(self, _squeeze_row(dim), *_squeezed(dim))


@public("unsqueeze_", function=False)
def unsqueeze_(self: Any, dim: int) -> Any:
    """In-place unsqueeze."""
    return _reshape_in_place(self, "unsqueeze", dim)


@public("as_strided_")
def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """In-place as_strided."""
    own = offset_of(self)
    offset = own if storage_offset is None else storage_offset
    _check_window(self, tuple(size), tuple(stride), offset)
    return _reshape_in_place(self, "as_strided", tuple(size), tuple(stride), offset, Geometry.of(self._array, own))


def is_tensor(value: Any) -> bool:
    """Whether ``value`` is a tensor."""
    return isinstance(value, TensorBase)


public("is_tensor", method=False)(is_tensor)
