"""What operators make of sparse operands; all of it beneath autograd, on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..table.registry import F
from ..tensors.base import wrap
from ..tensors.dtypes import scalar_name
from .coo import ANSWERS, SparseTensor


def answers_for(*names: str) -> Callable[[Any], Any]:
    """Let a function be what these operators make of sparse operands."""

    def register(function: Any) -> Any:
        ANSWERS.update(dict.fromkeys(names, function))
        return function

    return register


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor)


# -- products


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


@answers_for("mm", "mv", "matmul")
def _product(self: Any, other: Any) -> Any:
    if _is_sparse(self) and not _is_sparse(other):
        return _times_dense(self, other)
    if _is_sparse(other) and not _is_sparse(self):
        return _times_dense(_t(other), self.mT).mT.contiguous()
    return _times_sparse(self, other)


def _times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Each entry of ``a`` by the entries of the row of ``b`` that its column names."""
    if a.shape[1] != b.shape[0]:
        sizes = " and ".join("x".join(map(str, t.shape)) for t in (a, b))
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes})")
    b = b.coalesce()
    (rows, columns), (b_rows, b_columns) = a._indices()._array, b._indices()._array
    first, end = np.searchsorted(b_rows, columns, "left"), np.searchsorted(b_rows, columns, "right")
    counts = end - first
    left = np.repeat(np.arange(rows.size), counts)
    right = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(left.size)
    values = a._values()._array[left] * b._values()._array[right]
    indices = np.stack([rows[left], b_columns[right]])
    return SparseTensor.made(wrap(indices), wrap(values), (a.shape[0], b.shape[1])).coalesce()


@answers_for("addmm", "sparse_addmm", "_sparse_addmm")
def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = F.mul(_product(mat1, mat2), alpha)
    return product if beta == 0 else F.add(F.mul(self, beta), product)


# -- places


@answers_for("t")
def _t(self: SparseTensor) -> SparseTensor:
    return _transpose(self, 0, 1) if self.dim() > 1 else self


@answers_for("transpose")
def _transpose(self: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    width, order, size = self.sparse_dim(), list(range(self.sparse_dim())), list(self.shape)
    first, second = dim0 % self.dim(), dim1 % self.dim()
    if max(first, second) >= width:
        raise RuntimeError("transpose(): only dimensions that the indices count may be exchanged")
    order[first], order[second] = order[second], order[first]
    size[first], size[second] = size[second], size[first]
    return SparseTensor.made(self._indices()[order], self._values(), size)


@answers_for("permute")
def _permute(self: SparseTensor, dims: Any) -> SparseTensor:
    if tuple(d % self.dim() for d in dims) != (1, 0):
        raise NotImplementedError("permute of sparse tensors is there for the two dimensions of matrices")
    made: SparseTensor = _t(self)
    return made


def sum_over(self: SparseTensor, dims: Any) -> Any:
    """The sum over some dimensions that the indices count: sparse as long as others are left."""
    gone = {d % self.dim() for d in dims}
    kept = [d for d in range(self.sparse_dim()) if d not in gone]
    if max(gone) >= self.sparse_dim():
        raise NotImplementedError("sparse.sum: only dimensions that the indices count may be summed over")
    if not kept:
        return self._values().sum(0)
    size = [n for d, n in enumerate(self.shape) if d not in gone]
    return SparseTensor.made(self._indices()[kept], self._values(), size).coalesce()


# -- element by element


def _added(sign: int) -> Callable[..., Any]:
    def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        if not _is_sparse(other):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if self.shape != other.shape:
            raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {self.shape} != {other.shape}")
        if not _is_sparse(self):
            return F.add(self, F.mul(other.to_dense(), sign * alpha))
        indices = F.cat([self._indices(), other._indices()], 1)
        values = F.cat([self._values(), F.mul(other._values(), sign * alpha)], 0)
        joined = SparseTensor.made(indices, values, self.shape)
        return joined.coalesce() if self.is_coalesced() and other.is_coalesced() else joined

    return add


ANSWERS.update(add=_added(1), sub=_added(-1))


@answers_for("mul")
def _mul(self: Any, other: Any) -> Any:
    if not _is_sparse(self):
        return _mul(other, self)
    if _is_sparse(other):
        other = other.to_dense()
    elif not hasattr(other, "dim") or other.dim() == 0:
        return self.with_values(F.mul(self._values(), other))
    whole = F.expand(other, tuple(self.shape))
    return self.with_values(F.mul(self._values(), whole[tuple(self._indices())]))


@answers_for("div")
def _div(self: Any, other: Any) -> Any:
    return self.with_values(F.div(self._values(), other))


@answers_for("sum")
def _sum(self: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None:
        return self._values().sum(dtype=dtype)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    found = sum_over(self if dtype is None else self.with_values(self._values().to(dtype)), dims)
    for place in sorted(d % self.dim() for d in dims) if keepdim else ():
        found = F.unsqueeze(found, place)
    return found


@answers_for("linalg_vector_norm")
def _norm(self: SparseTensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    if dim is not None or ord != 2:
        raise NotImplementedError("norms of sparse tensors are there for ord=2 and all entries at once")
    return F._vector_norm(self.coalesce()._values(), 2, None, False, dtype)


def _by_value(name: str, each: bool) -> None:
    """An operator that leaves 0 as it is; where it is not linear (``each``), each place must be named once."""

    def answer(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        given = self.coalesce() if each else self
        return given.with_values(getattr(F, name)(given._values(), *args, **kwargs))

    ANSWERS[name] = answer


for _name in ("abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "expm1", "floor", "log1p", "relu", "round",
              "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"):  # fmt: skip
    _by_value(_name, True)
_by_value("neg", False)
_by_value("_pow_scalar", True)
ANSWERS["pow"] = ANSWERS.pop("_pow_scalar")


@answers_for("clone")
def _clone(self: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    return SparseTensor.made(self._indices().clone(), self._values().clone(), self.shape, self.is_coalesced())


@answers_for("detach", "alias")
def _alias(self: SparseTensor) -> SparseTensor:
    return self.with_values(self._values())


@answers_for("_to_copy")
def _to_copy(self: SparseTensor, *, dtype: Any = None, **kwargs: Any) -> SparseTensor:
    return self.with_values(self._values().to(dtype))


@answers_for("zeros_like")
def _zeros_like(self: SparseTensor, **kwargs: Any) -> SparseTensor:
    return SparseTensor.made(self._indices()[:, :0], self._values()[:0], self.shape, True)
