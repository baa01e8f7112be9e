"""Pieces of a tensor, copies of views, and views made again on another base."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....aliasing.views import has_geometry_of_base, replayed_on
from ....calls.overload_choice import KindCheck
from ....core.argument_checks import type_name_of
from ....core.base import PLAIN_CLASSES, TensorBase
from ....core.dtypes import dtype, scalar_name
from ....core.layouts import contiguous_format
from ....core.registry import OPS, F
from ....table.public import FUNCTIONS, METHODS, check_tensor, function_of, public
from ....tensors.convert import checked_dim
from .reshaping import ints_of
from .windows import narrow

# Pieces of a tensor: views, or with `unsafe_` tensors of their own on the same memory.


def _no_combination(size: Any, dim: Any) -> TypeError:
    return TypeError(
        "split() received an invalid combination of arguments - got (Tensor, "
        f"{type(size).__name__}, {type(dim).__name__}), but expected one of:\n"
        " * (Tensor input, int split_size, int dim = 0)\n * (Tensor input, tuple of ints split_size, int dim = 0)"
    )


_check_sizes = KindCheck("split_with_sizes").check


def pieces(form: str, tensor: Any, size: Any, dim: int) -> Any:
    """Pieces of one size or of given sizes, by rows named ``"_{}"`` (views), ``"_unsafe_{}"`` or ``"_{}_copy"``."""
    check_tensor("split", tensor)
    if not tensor._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(size, int):
        if bool in (size.__class__, dim.__class__) or dim.__class__ is float:
            raise _no_combination(size, dim)
        if size < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        return getattr(F, form.format("split"))(tensor, size, dim)
    if size.__class__ not in (tuple, list) or any(s.__class__ is not int for s in size):
        _check_sizes((tensor, size, dim), {})
    return getattr(F, form.format("split_with_sizes"))(tensor, tuple(int(s) for s in size), dim)


def _publish(unsafe: str, note: str) -> None:
    """Publish ``split``, ``split_with_sizes`` and ``chunk``, or their ``unsafe_`` forms."""
    form, equal = f"_{unsafe}{{}}", f"_{unsafe}split"

    def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
        return pieces(form, tensor, split_size_or_sections, dim)

    def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
        return pieces(form, input, tuple(split_sizes), dim)

    def chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
        check_tensor("chunk", input)
        shape = input._array.shape
        if not shape:
            raise RuntimeError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        n = shape[dim if dim.__class__ is int and 0 <= dim < len(shape) else checked_dim(dim, len(shape))]
        if n:  # by the row ``split``; without entries to count, by sizes
            return getattr(F, equal)(input, int(-(-n // chunks)), dim)
        return pieces(form, input, (0,) * chunks, dim)

    split.__doc__ = f"Pieces of a given size (the last may be smaller), or of given sizes{note}."
    split_with_sizes.__doc__ = f"Pieces of the given sizes{note}."
    chunk.__doc__ = f"At most ``chunks`` pieces of equal size (the last may be smaller){note}."
    for function in (split, split_with_sizes, chunk):
        function.__name__ = function.__qualname__ = unsafe + function.__name__
        public(also={"input": "tensor", "split_size": "split_size_or_sections"} if function is split else {})(function)


_publish("", "")


def _quick(chunk: Any) -> Any:
    """``chunk`` of a plain tensor by whole numbers: nothing is to be found out about arguments (2 of 12 µs)."""
    split = F._split

    @functools.wraps(chunk)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 3 and not kwargs:
            x, chunks, dim = args
            if x.__class__ in PLAIN_CLASSES and chunks.__class__ is dim.__class__ is int and chunks > 0 <= dim:
                shape = args[0]._array.shape  # (reading a ``Size`` calls a function of Python's)
                if dim < len(shape) and shape[dim]:
                    return split(x, -(-shape[dim] // chunks), dim)
        return chunk(*args, **kwargs)

    return call


FUNCTIONS["chunk"] = METHODS["chunk"] = _quick(FUNCTIONS["chunk"])
_publish("unsafe_", "; no views, so each may be written in place")


@public("tensor_split", also={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:  # noqa: A002
    """Pieces at given places, or a given number of them; each is an ordinary slice."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = checked_dim(dim, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, TensorBase):
        indices_or_sections = _places_in_tensor(indices_or_sections)
    if isinstance(indices_or_sections, (int, np.integer)):
        points = _even_points(n, int(indices_or_sections))
    else:
        points = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(F._slice(input, axis, a, b, 1) for a, b in itertools.pairwise(points))


def _places_in_tensor(given: Any) -> Any:
    """The number of pieces, or the list of places, that a tensor gives."""
    what = "tensor_split expected tensor_indices_or_sections to"
    if given._sig.numpy.name != "int64":
        raise RuntimeError(f"{what} have dtype of long, but got {scalar_name(given._sig.numpy)}")
    if given.ndim > 1:
        raise RuntimeError(
            f"{what} be a zero-dimensional or one-dimensional tensor, but got a tensor with {given.ndim} dims"
        )
    return given.tolist()


def _even_points(n: int, sections: int) -> list[int]:
    """Where the given number of pieces begin and end; the first ones are longer by one where ``n`` leaves a rest."""
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    small, extra = divmod(n, sections)
    return list(itertools.accumulate((small + (i < extra) for i in range(sections)), initial=0))


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


# Copies of views with torch's overloads.


@public("squeeze_copy", method=False, out=True)
def squeeze_copy(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """A copy without dimensions of size one."""
    if dim is None:
        return F._squeeze_copy(input)
    return F._squeeze_dim_copy(input, dim) if isinstance(dim, int) else F._squeeze_dims_copy(input, tuple(dim))


@public("permute_copy", method=False, out=True)
def permute_copy(input: Any, dims: Any) -> Any:  # noqa: A002
    """A copy with dimensions in another order."""
    return F.permute_copy(input, ints_of((dims,)))


@public("expand_copy", method=False, out=True)
def expand_copy(input: Any, size: Any, *, implicit: bool = False) -> Any:  # noqa: A002
    """A copy with dimensions of size one repeated."""
    return F.expand_copy(input, ints_of((size,)))


@public("view_copy", method=False, out=True, also={"dtype": "size"})
def view_copy(input: Any, size: Any) -> Any:  # noqa: A002
    """A copy in another shape, or of the same bytes read as another dtype."""
    if isinstance(size, dtype):
        return F.clone(input.view(size))
    return F.view_copy(input if input.is_contiguous() else F.clone(input, contiguous_format), ints_of((size,)))


@public("narrow_copy", out=True)
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:  # noqa: A002
    """A copy of ``length`` entries of a dimension."""
    shown = narrow(input.detach(), dim, start, length)  # which refuses what does not fit
    return F._narrow_copy(input, dim, start % max(input.shape[dim], 1) if start < 0 else start, shown.shape[dim])


@public("unbind_copy", method=False, out=True)
def unbind_copy(input: Any, dim: int = 0) -> Any:  # noqa: A002
    """Copies of the entries of a dimension."""
    return tuple(F._unbind_copy(input, dim))


@public("split_copy", method=False, out=True)
def split_copy(input: Any, split_size: int, dim: int = 0) -> Any:  # noqa: A002
    """Copies of pieces of one size along a dimension."""
    return pieces("_{}_copy", input, split_size, dim)


@public("split_with_sizes_copy", method=False, out=True)
def split_with_sizes_copy(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
    """Copies of pieces of the given sizes along a dimension."""
    return pieces("_{}_copy", input, tuple(split_sizes), dim)


@public("detach_copy", method=False, out=True)
def detach_copy(input: Any) -> Any:  # noqa: A002
    """A copy without history, or with one that backward refuses, as in torch."""
    return F._detach_copy(input)


@public("detach_", method=False)
def detach_(input: Any) -> Any:  # noqa: A002
    """Detach the tensor in place: it has no history afterwards."""
    return input.detach_()


@public("as_strided_copy", method=False, out=True)
def as_strided_copy(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:  # noqa: A002
    """A copy of a window with the given sizes, strides and offset."""
    return F.clone(input.as_strided(size, stride, storage_offset))


@public("view_as_real_copy", method=False, out=True)
def view_as_real_copy(input: Any) -> Any:  # noqa: A002
    """A copy of the parts of complex numbers in a new last dimension."""
    return F.view_as_real_copy(input)


@public("view_as_complex_copy", method=False, out=True)
def view_as_complex_copy(input: Any) -> Any:  # noqa: A002
    """A copy of pairs in the last dimension as complex numbers."""
    return F.clone(FUNCTIONS["view_as_complex"](input))


for _view_name in ("alias", "select", "slice", "transpose", "t", "unsqueeze", "unfold", "diagonal"):
    FUNCTIONS[f"{_view_name}_copy"] = function_of(OPS[f"{_view_name}_copy"])


# View functions: a view made again on another base.


def _check_base(name: str, new_base: Any) -> None:
    if not isinstance(new_base, TensorBase):
        raise TypeError(f"{name}(): argument 'new_base' (position 1) must be Tensor, not {type_name_of(new_base)}")


@public("_view_func", function=False)
def view_func(self: Any, new_base: Any) -> Any:
    """This view on another base; ``None`` for a non-view or a base of other sizes, strides or offset."""
    _check_base("_view_func", new_base)
    return replayed_on(self, new_base) if has_geometry_of_base(self, new_base) else None


@public("_view_func_unsafe", function=False)
def view_func_unsafe(
    self: Any,
    new_base: Any,
    symint_visitor_fn: Callable[[Any], Any] | None = None,
    tensor_visitor_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """The same without comparing the bases.  Sizes are plain numbers here, so there is nothing for visitors to see."""
    _check_base("_view_func_unsafe", new_base)
    return replayed_on(self, new_base)


@public("_rev_view_func_unsafe", function=False)
def rev_view_func_unsafe(self: Any, new_view: Any, tensor_visitor_fn: Callable[[Any], Any] | None = None) -> Any:
    """``None`` for a non-view; ``RuntimeError`` for views, because no row stores an inverse."""
    if self._is_view():
        raise RuntimeError("No _rev_view_func() found: views of strided memory have no stored inverse.")
    return None
