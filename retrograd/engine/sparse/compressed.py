"""Compressed layouts, and their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.layouts import layout as layout_type
from ..core.registry import F
from ..overriding.subclasses import make_wrapper_subclass
from ..table.rows import linear
from ..tensors.printing import grad_suffix, is_usual, with_suffixes
from .coo import ANSWERS, SparseTensor, TensorOfEntries, elements
from .rows import dense, entries_at

# `CompressedTensor`: a sparse matrix in compressed row format (CSR).

sparse_csr = layout_type("torch.sparse_csr")
_FORMS = {"clone", "detach", "alias", "_to_copy", "mul", "div", "neg", "add", "sub", "mm", "mv", "matmul", "addmm",
          "sparse_addmm", "abs", "sin", "tanh", "relu", "sqrt", "sign", "zeros_like", "select", "to_dense",
          "sparse_values", "to_sparse_csr", "csr_to_coo", "t", "transpose"}  # fmt: skip
"""Operators that are there for this form."""
_NOT_COMPRESSED = ("csr_to_coo", "t", "transpose")
"""Those whose result stays in coordinate form: a transposed matrix would be compressed by columns."""


class CompressedTensor(TensorOfEntries):
    """A matrix of which ``crow_indices`` says where each row's entries begin, and ``col_indices`` their columns."""

    layout = sparse_csr
    is_sparse_csr = True
    _rows_kept: Any
    _columns_kept: Any

    @staticmethod
    def made(rows: Any, columns: Any, values: Any, size: Any) -> CompressedTensor:
        """The matrix of tensors that fit."""
        new = make_wrapper_subclass(CompressedTensor, tuple(size), strides=(0, 0), dtype=values.dtype)
        new._rows_kept, new._columns_kept, new._values_kept = rows, columns, values.detach()
        return new  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What the operator makes of the matrix in coordinate form, compressed again where that is a sparse matrix."""
        if func.opname not in _FORMS:
            raise NotImplementedError(
                f"Could not run '{func.name()}' with arguments from the 'SparseCsrCPU' backend: there is no such "
                "operator for matrices in the form CSR; call to_dense() or to_sparse() first"
            )
        if func.opname == "sparse_values":
            return args[0]._values_kept.detach()
        found = ANSWERS[func.opname](*map(_in_coordinates, args), **(kwargs or {}))
        matrix = isinstance(found, SparseTensor) and found.dim() == 2 and func.opname not in _NOT_COMPRESSED
        return compressed(found) if matrix else found

    # -- what it consists of

    def crow_indices(self) -> Any:
        """Where the entries of each row begin, and the number of all."""
        return self._rows_kept

    def col_indices(self) -> Any:
        """The column of each entry."""
        return self._columns_kept

    def values(self) -> Any:
        """The entries."""
        return F._sparse_values(self)

    def sparse_dim(self) -> int:
        """Both dimensions."""
        return 2

    def dense_dim(self) -> int:
        """0: each entry is one number."""
        return 0

    def places(self) -> Any:
        """A column of row and column for each entry."""
        counts = np.diff(self._rows_kept._array)
        return wrap(np.stack([np.repeat(np.arange(counts.size), counts), self._columns_kept._array]))

    # -- other forms

    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """The matrix in coordinate form."""
        return F._csr_to_coo(self)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim: int | None = None) -> CompressedTensor:
        """Itself."""
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        values = self._values_kept._array
        parts = [("crow_indices", self._rows_kept._array), ("col_indices", self._columns_kept._array)]
        contents = [f"{name}={elements(array, len(name) + 8)}" for name, array in (*parts, ("values", values))]
        dtype = [] if is_usual(values.dtype) else [f"dtype={self.dtype}"]
        said = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}", *dtype, "layout=torch.sparse_csr"]
        return with_suffixes("tensor(" + ",\n       ".join(contents), [*said, *grad_suffix(self)], 7) + ")"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild, (self._rows_kept, self._columns_kept, self._values_kept, tuple(self.shape))


def rebuild(rows: Any, columns: Any, values: Any, size: Any) -> CompressedTensor:
    """The matrix that a file describes."""
    return CompressedTensor.made(rows, columns, values, size)


def _in_coordinates(t: Any) -> Any:
    if not isinstance(t, CompressedTensor):
        return t
    return SparseTensor.made(t.places(), t._values_kept, t.shape, True)


def compressed(t: SparseTensor) -> CompressedTensor:
    """A sparse matrix by rows."""
    if t.sparse_dim() != 2:
        raise RuntimeError(
            "coo_to_sparse_csr: conversion from Sparse to SparseCsr for input tensors with sparse_dim()!=2 is not "
            "supported"
        )
    t = t.coalesce()
    rows, columns = t._indices()._array
    begins = np.searchsorted(rows, np.arange(t.shape[0] + 1)).astype(np.int64)
    return CompressedTensor.made(wrap(begins), wrap(columns.copy()), t._values(), t.shape)


# Rows that build CSR matrices and take them apart, through which gradients flow into their values.


def _of_parts(values: Any, rows: Any, columns: Any, size: Any) -> CompressedTensor:
    return CompressedTensor.made(wrap(rows), wrap(columns), wrap(values), size)


def _at_places(g: Any, result: CompressedTensor) -> Any:
    """The gradient of the values."""
    return F._sparse_values(g) if isinstance(g, CompressedTensor) else entries_at(g, result.places())


linear("_sparse_compressed_tensor", _of_parts, tensors="values rows columns", sparse=True, public=False, keeps="values",
       values=lambda g, result: _at_places(g, result))  # fmt: skip


def _from_array(self: Any) -> CompressedTensor:
    if self.ndim != 2:
        raise RuntimeError(
            "to_sparse_csr: here only of matrices (of batches there is no form CSR), but the tensor has "
            f"{self.ndim} dimensions"
        )
    rows, columns = np.nonzero(self)
    found = SparseTensor.made(wrap(np.stack([rows, columns])), wrap(self[rows, columns]), self.shape, True)
    return compressed(found)


ANSWERS["to_sparse_csr"] = compressed
ANSWERS["csr_to_coo"] = lambda t: t
linear("_to_sparse_csr", _from_array, sparse=True, public=False, tensors="self",
       self=lambda g, self: _as_was(g, self))  # fmt: skip
linear("_csr_to_coo", _from_array, sparse=True, public=False, node="ToSparseBackward1", self=lambda g: g)


def _as_was(g: Any, was: Any) -> Any:
    """The gradient of what was compressed, in the form that it had."""
    if not isinstance(was, SparseTensor):
        return dense(g.to_sparse() if isinstance(g, CompressedTensor) else g)
    return g.to_sparse()
