"""Gathering and scattering with torch's overloads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.inplace import call_inplace
from ....core.base import TensorBase, wrap
from ....core.registry import OPS, F
from ....deprecations import discourage
from ....table.public import check_tensor, public
from ....tensors.convert import checked_dim

_PLAIN = ("add", "multiply")


def _scatter_call(self: Any, dim: int, index: Any, src: Any, reduce: Any) -> tuple[Any, tuple[Any, ...]]:
    if reduce is not None:
        if reduce not in _PLAIN:
            raise RuntimeError("reduce argument must be either add or multiply.")
        if isinstance(src, TensorBase) and src._sig.numpy != self._sig.numpy:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        return OPS["_scatter_with"], (self, dim, index, src, reduce)
    row = "_scatter" if isinstance(src, TensorBase) else "_scatter_number"
    return OPS[row], (self, dim, index, src)


def _value(src: Any, value: Any) -> Any:
    if src is None and value is None:
        raise TypeError('scatter() missing 1 required positional arguments: "src"')
    return value if src is None else src


@public("scatter", out=True)
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:  # noqa: A002
    """A copy with ``src`` (a tensor or a number) written at the places that ``index`` names."""
    check_tensor("scatter", input)
    row, args = _scatter_call(input, dim, index, _value(src, value), reduce)
    return row(*args)


@public("scatter_", function=False)
def scatter_(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """In-place scatter."""
    row, args = _scatter_call(self, dim, index, _value(src, value), reduce)
    return call_inplace(row, args, {})


@public("scatter_reduce", out=True)
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:  # noqa: A002
    """``src`` reduced (sum, prod, mean, amax, amin) into the places that ``index`` names."""
    check_tensor("scatter_reduce", input)
    return F._scatter_reduce(input, dim, index, src, reduce, include_self)


@public("scatter_reduce_", function=False)
def scatter_reduce_(self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """In-place scatter_reduce."""
    return call_inplace(OPS["_scatter_reduce"].in_place, (self, dim, index, src, reduce, include_self), {})


@public("gather", out=True)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:  # noqa: A002
    """The elements that ``index`` names along ``dim``."""
    check_tensor("gather", input)
    return F._gather_sparse(input, dim, index) if sparse_grad else F.gather(input, dim, index)


@public("take_along_dim", out=True)
def take_along_dim(input: Any, indices: Any, dim: Any = None) -> Any:  # noqa: A002
    """``gather`` with broadcasting; without ``dim``, on flattened tensors."""
    check_tensor("take_along_dim", input)
    if indices._sig.numpy != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return F.gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = checked_dim(dim, input.ndim)
    sizes = [max(n, m) if 1 in (n, m) else n for n, m in zip(input.shape, indices.shape, strict=True)]
    source, places = list(sizes), list(sizes)
    source[axis], places[axis] = input.shape[axis], indices.shape[axis]
    within = F.remainder(indices, input.shape[axis])  # as PyTorch counts: from the end, and again from the front
    return F.gather(F.expand(input, tuple(source)), axis, F.expand(within, tuple(places)))


# -- whole slices


@public("index_add", out=True)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:  # noqa: A002
    """A copy with slices of ``source`` added at the given indices."""
    check_tensor("index_add", input)
    return F._index_add(input, dim, index, source, alpha)


@public("index_add_", function=False)
def index_add_(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """In-place index_add."""
    return call_inplace(OPS["_index_add"], (self, dim, index, source, alpha), {})


def _fill_row(self: Any, value: Any) -> Any:
    is_number = not isinstance(value, TensorBase)
    is_complex = isinstance(value, (complex, np.complexfloating)) if is_number else value._sig.kind == "c"
    if is_complex and self._sig.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if is_number:
        return OPS["_index_fill_number"]
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return OPS["_index_fill_tensor"]


@public("index_fill")
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:  # noqa: A002
    """A copy with one value in the slices at the given indices."""
    return _fill_row(input, value)(input, dim, index, value)


@public("index_fill_", function=False)
def index_fill_(self: Any, dim: int, index: Any, value: Any) -> Any:
    """In-place index_fill."""
    return call_inplace(_fill_row(self, value), (self, dim, index, value), {})


@public("index_reduce", out=True)
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:  # noqa: A002
    """Slices of ``source`` reduced (prod, mean, amax, amin) into the given indices."""
    check_tensor("index_reduce", input)
    found = F._index_reduce(input, dim, index, source, reduce, include_self)
    discourage("index_reduce")
    return found


@public("index_reduce_", function=False)
def index_reduce_(self: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """In-place index_reduce."""
    call_inplace(OPS["_index_reduce"], (self, dim, index, source, reduce, include_self), {})
    discourage("index_reduce")
    return self


@public("unravel_index", method=False)
def unravel_index(indices: Any, shape: Any) -> Any:
    """Coordinates of flat indices in a shape; indices beyond it start again from its beginning."""
    check_tensor("unravel_index", indices)
    if indices._sig.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else shape
    if isinstance(sizes, str) or not all(isinstance(n, (int, np.integer)) for n in sizes):
        wrong = sizes if isinstance(sizes, str) else next(n for n in sizes if not isinstance(n, (int, np.integer)))
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(wrong)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    if 0 in sizes and indices._array.size:
        raise RuntimeError("ZeroDivisionError: a shape with a size of 0 has no places that indices could name")
    flat, found = indices._array.astype(np.int64), []
    for n in reversed(tuple(sizes)):
        found.append(flat % max(n, 1))
        flat = flat // max(n, 1)
    return F.unbind(wrap(np.stack(found[::-1], -1)), -1) if found else ()
