"""Sparse tensors from places and values, and from dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliasing.views import requires_grad as needs_grad
from ..switches.modes import is_grad_enabled
from ..table.methods import FUNCTIONS
from ..table.registry import F
from ..tensors import dtypes
from ..tensors.base import wrap
from ..tensors.tensor import Tensor
from . import parts, writes  # noqa: F401 - they answer for operators
from .answers import sum_over
from .coo import SparseTensor, no_gradients


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: Any = None, is_coalesced: Any = None,
) -> SparseTensor:  # fmt: skip
    """A sparse tensor: a column of ``indices`` for each of ``values``; without a size the smallest that holds them."""
    if values is None:
        return _empty(tuple(indices), dtype)
    places = FUNCTIONS["as_tensor"](indices, dtype=dtypes.int64)
    entries = FUNCTIONS["as_tensor"](values, dtype=dtype)
    if requires_grad or (needs_grad(entries) and is_grad_enabled()):
        raise no_gradients()
    if places.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if places.shape[1] != entries.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: "
            f"{entries.shape[0]}"
        )
    counted, each = places.shape[0], tuple(entries.shape[1:])
    if size is None:
        size = (*(places._array.max(axis=1) + 1 if places.numel() else (0,) * counted), *each)
    _check_size(places._array, each, tuple(map(int, size)))
    return SparseTensor.made(places, entries, tuple(map(int, size)), bool(is_coalesced))


def _check_size(places: Any, each: tuple[int, ...], size: tuple[int, ...]) -> None:
    counted = len(places)
    if len(size) != counted + len(each):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({counted}) + dense_dim ({len(each)}), but got {len(size)}"
        )
    if size[counted:] != each:
        raise RuntimeError(f"values has incorrect size, expected {list(size[counted:])}, got {list(each)}")
    for dim, row in enumerate(places):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
        if row.size and row.max() >= size[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {row.max()}"
            )


def _empty(size: tuple[int, ...], dtype: Any) -> SparseTensor:
    return SparseTensor.made(wrap(np.zeros((len(size), 0), np.int64)), FUNCTIONS["zeros"](0, dtype=dtype), size, True)


def to_sparse(self: Any, sparse_dim: int | None = None, *, layout: Any = None, **options: Any) -> SparseTensor:
    """The places of the entries that are not 0, counted over the first ``sparse_dim`` dimensions, and their values."""
    if needs_grad(self) and is_grad_enabled():
        raise no_gradients()
    array = self._array
    counted = array.ndim if sparse_dim is None else sparse_dim
    there = array != 0
    if counted < array.ndim:
        there = there.any(axis=tuple(range(counted, array.ndim)))
    places = np.stack(np.nonzero(there)) if counted else np.zeros((0, 1), np.int64)
    values = array[there] if counted else array[None]
    return SparseTensor.made(wrap(places.astype(np.int64)), wrap(values.copy()), tuple(self.shape), True)


def sparse_mm(sparse: Any, dense: Any) -> Any:
    """``torch.sparse.mm``: the product of a sparse matrix and another one."""
    if isinstance(dense, SparseTensor):
        return sparse @ dense
    if dense.dim() != 2:
        raise IndexError("Dimension out of range: torch.sparse.mm takes matrices, of vectors the product is sparse @ x")
    nothing = FUNCTIONS["zeros"](sparse.shape[0], dense.shape[1], dtype=dense.dtype)
    return F._sparse_addmm(nothing, sparse, dense, 0, 1)


def sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """``torch.sparse.sum``: of all entries, or over some dimensions."""
    given = input if dtype is None else input.to(dtype)
    return given.sum() if dim is None else sum_over(given, (dim,) if isinstance(dim, int) else dim)


for _name in ("to_sparse", "to_sparse_coo"):
    setattr(Tensor, _name, to_sparse)
