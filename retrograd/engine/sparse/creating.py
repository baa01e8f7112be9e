"""Creates sparse tensors from indices and values, and from dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.base import wrap
from ..core.layouts import strided
from ..core.registry import F
from ..methods import FUNCTIONS
from ..tensors.tensor import Tensor
from . import (  # noqa: F401 - they answer for operators
    answers,
    compressed,
    parts,
    products,
    reductions,
)
from .coo import SparseTensor
from .rows import masked_by, sparse_of


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: Any = None, is_coalesced: Any = None,
) -> Any:  # fmt: skip
    """A sparse tensor: a column of ``indices`` for each of ``values``; without a size the smallest that holds them."""
    if values is None:
        if indices is None and size is None:
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments - got ()")
        made = empty(tuple(indices if size is None else size), dtype)
        return made._requiring_grad() if requires_grad else made
    places = FUNCTIONS["as_tensor"](indices, dtype=dtypes.int64)
    entries = FUNCTIONS["as_tensor"](values, dtype=dtype)
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
    made = sparse_of(places, entries, map(int, size), bool(is_coalesced))
    return made._requiring_grad() if requires_grad else made


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


def empty(size: tuple[int, ...], dtype: Any) -> SparseTensor:
    """A sparse tensor without entries."""
    return SparseTensor.made(wrap(np.zeros((len(size), 0), np.int64)), FUNCTIONS["zeros"](0, dtype=dtype), size, True)


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: Any = None,
) -> Any:  # fmt: skip
    """A CSR matrix: ``values`` in the columns ``col_indices``, with row ``i`` starting at ``crow_indices[i]``."""
    rows = FUNCTIONS["as_tensor"](crow_indices, dtype=dtypes.int64)
    columns = FUNCTIONS["as_tensor"](col_indices, dtype=dtypes.int64)
    entries = FUNCTIONS["as_tensor"](values, dtype=dtype)
    if size is None:
        size = (rows.shape[0] - 1, int(columns._array.max(initial=-1)) + 1)
    _check_rows(rows._array, columns._array, entries, tuple(size))
    made = F._sparse_compressed_tensor(entries, rows, columns, tuple(map(int, size)))
    return made._requiring_grad() if requires_grad else made


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any = None, **options: Any
) -> Any:
    """A matrix in a compressed ``layout``, of which there is CSR; ``RuntimeError`` for another one."""
    if layout is not compressed.sparse_csr:
        got = "none" if layout is None else "Strided" if layout is strided else layout
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {got}")
    return sparse_csr_tensor(compressed_indices, plain_indices, values, size, **options)


def _check_rows(rows: Any, columns: Any, entries: Any, size: tuple[int, ...]) -> None:
    if len(size) != 2 or rows.ndim != 1 or columns.ndim != 1 or entries.dim() != 1:
        raise NotImplementedError("sparse_csr_tensor: batches and entries with dimensions are not there")
    count = columns.shape[0]
    if rows.shape[0] != size[0] + 1:
        raise RuntimeError(f"crow_indices.shape[-1] must be equal to nrows + 1 ({size[0] + 1}), but got {len(rows)}")
    if entries.shape[0] != count:
        raise RuntimeError(f"number of values ({entries.shape[0]}) must be that of col_indices ({count})")
    if rows[0] != 0 or rows[-1] != count or (np.diff(rows) < 0).any():
        raise RuntimeError(
            f"`crow_indices[..., 0] == 0` and `crow_indices[..., -1] == nnz` ({count}) must hold, rising"
        )
    if count and (columns.min() < 0 or columns.max() >= size[1]):
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")


def to_sparse(self: Any, sparse_dim: int | None = None, *, layout: Any = None, **options: Any) -> Any:
    """The places of the entries that are not 0, counted over the first ``sparse_dim`` dimensions, and their values."""
    return F._to_sparse(self, self.dim()) if sparse_dim is None else F._to_sparse_dim(self, sparse_dim)


def sparse_mask(self: Any, mask: Any) -> Any:
    """The entries at the places of a sparse tensor."""
    return masked_by(self, mask)


def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
    """The matrix by rows."""
    return F._to_sparse_csr(self)


for _name, _method in {
    "to_sparse": to_sparse,
    "to_sparse_coo": to_sparse,
    "to_sparse_csr": to_sparse_csr,
    "sparse_mask": sparse_mask,
}.items():
    setattr(Tensor, _name, _method)
