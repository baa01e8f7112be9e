"""The functions of ``torch.sparse``: products, sums, softmax."""

from __future__ import annotations

from typing import Any

from ..core.dtypes import scalar_name
from ..core.registry import F
from ..methods import FUNCTIONS
from ..tensors.convert import dims_given
from ..tensors.tensor import Tensor
from .compressed import CompressedTensor
from .coo import SparseTensor
from .creating import empty, sparse_csr_tensor


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
    return F._sparse_sum(given, dims_given(dim))


def sparse_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """``torch.sparse.softmax``: of the entries that there are, along a dimension."""
    return F._sparse_softmax(input if dtype is None else input.to(dtype), dim)


def sparse_log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The logarithm of ``softmax``."""
    return F._sparse_log_softmax(input if dtype is None else input.to(dtype), dim)


def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one, sparse with rows as values."""
    if not isinstance(mat1, SparseTensor):
        raise NotImplementedError("Could not run 'aten::hspmm': mat1 must be a sparse matrix, as to_sparse() makes it")
    return F._hspmm(mat1, mat2)


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)``, sparse, for a dense ``mat2``."""
    if not (isinstance(input, SparseTensor) and isinstance(mat1, SparseTensor)):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors, as to_sparse() makes them")
    return F._sspaddmm(input, mat1, mat2, beta, alpha)


def smm(input: Any, mat: Any) -> Any:  # noqa: A002
    """The product of a sparse matrix and a dense one, sparse."""
    nothing = empty((input.shape[0], mat.shape[1]), input.dtype)
    return F._sspaddmm(nothing, input, mat, 0, 1)


def spmm(input: Any, mat2: Any) -> Any:  # noqa: A002
    """``mm`` under the name that it has for sparse matrices."""
    return F.mm(input, mat2)


def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of the CSR matrix ``input``, and nowhere else."""
    if not isinstance(input, CompressedTensor):
        raise NotImplementedError(
            "Could not run 'aten::sparse_sampled_addmm': input must be a CSR matrix, as to_sparse_csr() makes it"
        )
    _check_sampled(input, mat1, mat2)
    rows, columns = input.places()
    values = (mat1.index_select(0, rows) * mat2.index_select(1, columns).t()).sum(1) * alpha + input.values() * beta
    return sparse_csr_tensor(input.crow_indices(), input.col_indices(), values, tuple(input.shape))


def _check_sampled(input: Any, mat1: Any, mat2: Any) -> None:  # noqa: A002
    if mat1.dtype != mat2.dtype:
        first, second = (scalar_name(m._sig.numpy) for m in (mat1, mat2))
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got {first} and {second}"
        )
    (n, k), (other_k, m) = mat1.shape, mat2.shape
    if k != other_k:
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {other_k}x{m})")
    for dim, name, size in ((-2, "mat1", n), (-1, "mat2", m)):
        if input.shape[dim] != size:
            raise RuntimeError(f"sampled_addmm: self.shape[{dim}] must match {name}.shape[{dim}]")


for _method in (smm, sspaddmm):
    setattr(Tensor, _method.__name__, _method)
