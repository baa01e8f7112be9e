"""Copies of views with torch's overloads."""

from __future__ import annotations

from typing import Any

from ....table.public import FUNCTIONS, function_of, public
from ....table.registry import OPS, F
from ....tensors.dtypes import dtype
from ....tensors.layouts import contiguous_format
from .sizes import ints_of
from .splitting import pieces
from .windows import narrow


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


for _name in ("alias", "select", "slice", "transpose", "t", "unsqueeze", "unfold", "diagonal"):
    FUNCTIONS[f"{_name}_copy"] = function_of(OPS[f"{_name}_copy"])
