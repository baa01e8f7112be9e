"""Products of sparse matrices with dense and sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.dtypes import scalar_name
from ..core.registry import F
from ..ops.linalg.products import addmm_of_arrays, product_added_jvp
from ..ops.pointwise.arithmetic import conj, scaled
from ..switches.modes import is_grad_enabled
from ..table.rows import multilinear, underivable
from .coo import SparseTensor, answers_for, is_sparse
from .rows import entries_at, masked_by, of_values, sparse_of


def _rows_of_sums(size: int, rows: Any, terms: Any) -> Any:
    """``out[i]``: the sum of the terms whose row is ``i``."""
    out = np.zeros((size, *terms.shape[1:]), terms.dtype)
    if rows.size:
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        out[ordered[starts]] = np.add.reduceat(terms[order], starts, axis=0)
    return out


def _times_dense(a: SparseTensor, dense: Any) -> Any:
    """Sparse matrix by dense vector or matrix."""
    if a.sparse_dim() != 2:
        raise RuntimeError(f"addmm: matrices expected, got {a.sparse_dim()}D tensor")
    if a.dtype != dense.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(a._sig.numpy)} but found {scalar_name(dense._sig.numpy)}"
        )
    if a.shape[1] != dense.shape[0]:
        raise RuntimeError(
            "mv: expected self.size(-1) == vec.size(-1)"
            if dense.dim() == 1
            else f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {dense.shape[0]}"
        )
    rows, columns = a._indices()._array
    values = a._values()._array
    terms = values.reshape(-1, *(1,) * (dense.dim() - 1)) * dense._array[columns]
    return wrap(_rows_of_sums(a.shape[0], rows, terms))


@answers_for("mm", "mv", "matmul", "sparse_sparse_matmul")
def _product(self: Any, other: Any) -> Any:
    if is_sparse(self) and not is_sparse(other):
        return _times_dense(self, other)
    if is_sparse(other) and not is_sparse(self):
        return wrap(_times_dense(other.t(), self.mT)._array.T)
    return _times_sparse(self, other)


def _times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Each entry of ``a`` by the entries of the row of ``b`` that its column names."""
    if a.shape[1] != b.shape[0]:
        sizes = " and ".join("x".join(map(str, t.shape)) for t in (a, b))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes})")
    if a.dtype != b.dtype:
        names = [scalar_name(t._sig.numpy) for t in (a, b)]
        raise RuntimeError(f"mat1 dtype {names[0]} does not match mat2 dtype {names[1]}")
    b = b.coalesce()
    (rows, columns), (b_rows, b_columns) = a._indices()._array, b._indices()._array
    first, end = np.searchsorted(b_rows, columns, "left"), np.searchsorted(b_rows, columns, "right")
    counts = end - first
    left = np.repeat(np.arange(rows.size), counts)
    right = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(left.size)
    values = a._values()._array[left] * b._values()._array[right]
    indices = np.stack([rows[left], b_columns[right]])
    return SparseTensor.made(wrap(indices), wrap(values), (a.shape[0], b.shape[1])).coalesce()


@answers_for("addmm", "sparse_addmm")
def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * (mat1 @ mat2)``."""
    product = F.mul(_product(mat1, mat2), alpha)
    return product if beta == 0 else F.add(F.mul(self, beta), product)


# -- gradients of matrices that stay sparse


def _at_entries(g: Any, mat2: Any, mat1: Any, alpha: Any) -> Any:
    """The gradient of a sparse ``mat1`` by a dense ``mat2``: ``alpha * (g @ mat2^H)`` at the places of its entries."""
    if mat1.is_sparse_csr:
        return scaled(of_values(mat1, entries_at(F.mm(g, F.t(conj(mat2))), mat1.places())), alpha)
    if not is_sparse(mat1):
        return scaled(F.mm(g, F.t(conj(mat2))), alpha)
    mask = mat1.coalesce()
    if is_grad_enabled():
        return scaled(masked_by(F.mm(g, F.t(conj(mat2))), mask), alpha)
    rows, columns = F.unbind(mask._indices(), 0)  # the other entries of the product are not computed
    pairs = F.index_select(g, 0, rows) * F.index_select(conj(mat2), 0, columns)
    return sparse_of(mask._indices().clone(), scaled(pairs.sum(1), alpha), mask.shape, True)


multilinear(
    "_sparse_addmm", addmm_of_arrays, node="SparseAddmmBackward0", promote="", sparse=True, public=False,
    self=lambda g, beta: scaled(g, beta),
    mat1=lambda g, mat2, mat1, alpha: _at_entries(g, mat2, mat1, alpha),
    mat2=lambda g, mat1, alpha: scaled(F.mm(F.t(conj(mat1)), g), alpha),
    jvp=product_added_jvp(lambda a, b: F.mm(a, b)), kinds="fciu",
)  # fmt: skip
multilinear(
    "_sparse_sparse_matmul", _product, promote="", sparse=True, public=False,
    self=lambda g, self, other: masked_by(F._sparse_sparse_matmul(g, F.t(conj(other))), self.coalesce()),
    other=lambda g, self, other: masked_by(F._sparse_sparse_matmul(F.t(conj(self)), g), other.coalesce()),
)  # fmt: skip


# -- products that are sparse though one of the matrices is not


def _entries_of_rows(mat1: Any, mat2: Any) -> tuple[Any, Any]:
    """The rows of ``mat1`` that have entries, and these rows of its product with a dense ``mat2``."""
    rows = np.unique(mat1._indices()._array[0])
    return rows, _times_dense(mat1, mat2)._array[rows]


@answers_for("hspmm")
def _hspmm(mat1: Any, mat2: Any) -> SparseTensor:
    """The product of a sparse matrix and a dense one: sparse, its values rows."""
    rows, values = _entries_of_rows(mat1, mat2)
    return SparseTensor.made(wrap(rows[None]), wrap(values), (mat1.shape[0], mat2.shape[1]), True)


@answers_for("sspaddmm")
def _sspaddmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """``beta * self + alpha * (mat1 @ mat2)``, sparse, for a dense ``mat2``."""
    rows, values = _entries_of_rows(mat1, mat2)
    width = mat2.shape[1]
    places = np.stack([np.repeat(rows, width), np.tile(np.arange(width), rows.size)])
    indices = np.concatenate([self._indices()._array, places], axis=1)
    entries = F.cat([F.mul(self._values(), beta), F.mul(wrap(values.reshape(-1)), alpha)], 0)
    return SparseTensor.made(wrap(indices), entries, self.shape)


underivable("_hspmm", _hspmm, tensors="mat1 mat2", sparse=True, public=False)
underivable("_sspaddmm", _sspaddmm, tensors="self mat1 mat2", sparse=True, public=False)
