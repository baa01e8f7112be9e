"""Sparse tensors from places and values, and from dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..table.methods import FUNCTIONS
from ..table.registry import F
from ..tensors import dtypes
from ..tensors.base import wrap
from ..tensors.tensor import Tensor
from . import answers, compressed, lookups, parts, products, reductions, writes  # noqa: F401 - they answer for operators
from .coo import SparseTensor
from .rows import masked_by, sparse_of


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: Any = None, is_coalesced: Any = None,
) -> Any:  # fmt: skip
    """A sparse tensor: a column of ``indices`` for each of ``values``; without a size the smallest that holds them."""
    if values is None:
        return _empty(tuple(indices), dtype)
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


def _empty(size: tuple[int, ...], dtype: Any) -> SparseTensor:
    return SparseTensor.made(wrap(np.zeros((len(size), 0), np.int64)), FUNCTIONS["zeros"](0, dtype=dtype), size, True)


def to_sparse(self: Any, sparse_dim: int | None = None, *, layout: Any = None, **options: Any) -> Any:
    """The places of the entries that are not 0, counted over the first ``sparse_dim`` dimensions, and their values."""
    return F._to_sparse(self, self.dim()) if sparse_dim is None else F._to_sparse_dim(self, sparse_dim)


def sparse_mask(self: Any, mask: Any) -> Any:
    """The entries at the places of a sparse tensor."""
    return masked_by(self, mask)


def sparse_mm(sparse: Any, dense: Any, reduce: str | None = None) -> Any:
    """``torch.sparse.mm``: the product of a sparse matrix and another one."""
    if reduce is not None:
        raise NotImplementedError(
            "torch.sparse.mm: 'reduce' is for matrices in the form CSR, of a kernel that is not here"
        )
    if isinstance(dense, SparseTensor) and isinstance(sparse, SparseTensor):
        return F._sparse_sparse_matmul(sparse, dense)
    if not sparse.is_sparse and isinstance(dense, SparseTensor):
        return F.transpose(sparse_mm(F.transpose(dense, -2, -1), F.transpose(sparse, -2, -1)), -2, -1)
    if dense.dim() != 2:
        raise IndexError("Dimension out of range: torch.sparse.mm takes matrices, of vectors the product is sparse @ x")
    nothing = FUNCTIONS["zeros"](sparse.size(-2), dense.shape[1], dtype=dense.dtype)
    return F._sparse_addmm(nothing, sparse, dense, 0, 1)


def sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """``torch.sparse.sum``: of all entries, or over some dimensions."""
    if dim is None:
        return input.coalesce().values().sum(dtype=dtype)
    given = input if dtype is None else input.to(dtype)
    return F._sparse_sum(given, (dim,) if isinstance(dim, int) else tuple(dim))


def sparse_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """``torch.sparse.softmax``: of the entries that there are, along a dimension."""
    return F._sparse_softmax(input if dtype is None else input.to(dtype), dim)


def sparse_log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The logarithm of ``softmax``."""
    return F._sparse_log_softmax(input if dtype is None else input.to(dtype), dim)


def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one, sparse with rows as values."""
    return F._hspmm(mat1, mat2)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)``, sparse, for a dense ``mat2``."""
    return F._sspaddmm(input, mat1, mat2, beta, alpha)


def smm(input: Any, mat: Any) -> Any:  # noqa: A002
    """The product of a sparse matrix and a dense one, sparse."""
    nothing = _empty((input.shape[0], mat.shape[1]), input.dtype)
    return F._sspaddmm(nothing, input, mat, 0, 1)


def spmm(input: Any, mat2: Any) -> Any:  # noqa: A002
    """``mm`` under the name that it has for sparse matrices."""
    return F.mm(input, mat2)


for _name in ("to_sparse", "to_sparse_coo"):
    setattr(Tensor, _name, to_sparse)
for _method in (sparse_mask, smm, sspaddmm):
    setattr(Tensor, _method.__name__, _method)
