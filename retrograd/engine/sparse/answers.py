"""Results of operators with sparse operands, computed below autograd on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..methods import FUNCTIONS
from .coo import ANSWERS, SparseTensor, answers_for, is_sparse, merged, numbers_of
from .rows import entries_at

# -- places


@answers_for("t")
def _t(self: SparseTensor) -> SparseTensor:
    if self.sparse_dim() > 2 or self.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.sparse_dim()} sparse and "
            f"{self.dense_dim()} dense dimensions"
        )
    return _transpose(self, 0, 1) if self.dim() > 1 else self.with_values(self._values())


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


# -- element by element


def _added(sign: int) -> Callable[..., Any]:
    def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        if not is_sparse(other):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if not is_sparse(self):
            return _added_to_dense(self, other, sign * alpha)
        _check_alike(self, other)
        other = other if sign * alpha == 1 else other.with_values(F.mul(other._values(), sign * alpha))
        return _sum_of(self, other)

    return add


def _added_to_dense(self: Any, other: SparseTensor, alpha: Any) -> Any:
    dtype = FUNCTIONS["result_type"](self, other)
    out = F.clone(F.expand(self, tuple(other.shape)))
    return add_entries(out if out.dtype is dtype else out.to(dtype), other, alpha)


def add_entries(out: Any, sparse: SparseTensor, alpha: Any) -> Any:
    """Add ``alpha`` times a sparse tensor to a dense one, in place."""
    if out.shape != sparse.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but got {list(out.shape)} and {list(sparse.shape)}"
        )
    values = sparse._values() if alpha == 1 else F.mul(sparse._values(), alpha)
    if not sparse.sparse_dim():
        return out.add_(values.sum(0))
    return out.index_put_(tuple(F.unbind(sparse._indices(), 0)), values.to(out.dtype), accumulate=True)


def _check_alike(self: SparseTensor, other: SparseTensor) -> None:
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    if self.sparse_dim() != other.sparse_dim() and self._nnz() and other._nnz():
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {self.sparse_dim()} sparse "
            f"dimensions while 'other' has {other.sparse_dim()} sparse dimensions"
        )


def _sum_of(self: SparseTensor, other: SparseTensor) -> SparseTensor:
    """As in PyTorch: merged where values lie in rows, else the entries of one behind those of the other."""
    if not (self._nnz() and other._nnz()):
        kept: SparseTensor = _clone(other if other._nnz() else self)
        return kept
    values = F.cat([self._values(), other._values()], 0)
    indices = F.cat([self._indices(), other._indices()], 1)
    if not all(t._values()._array.flags.c_contiguous for t in (self, other)):
        return SparseTensor.made(indices, values, self.shape)
    first, second = (numbers_of(t._indices()._array, t.shape) for t in (self, other))
    to_first, to_second, count = merged(first, second)
    where = np.concatenate([to_first, to_second])
    sums = np.zeros((count, *values._array.shape[1:]), values._array.dtype)
    np.add.at(sums, where, values._array)
    places = np.empty((self.sparse_dim(), where.size), np.int64)[:, :count]  # part of the memory, as in PyTorch
    places[:, where] = indices._array
    return SparseTensor.made(wrap(places), wrap(sums), self.shape, self.is_coalesced() and other.is_coalesced())


ANSWERS.update(add=_added(1), sub=_added(-1))


@answers_for("mul")
def _mul(self: Any, other: Any) -> Any:
    if not is_sparse(self):
        return _mul(other, self)
    if not hasattr(other, "dim") or other.dim() == 0:
        return _rescaled(self, F.mul(self._values(), other))
    if not is_sparse(other):
        other = F.expand(other, tuple(self.shape))
    elif self.is_coalesced() and not other.is_coalesced():
        self, other = other, self  # the product has the entries of the one that names places twice
    return _rescaled(self, F.mul(self._values(), entries_at(other, self._indices())))


def _rescaled(self: SparseTensor, values: Any) -> SparseTensor:
    """Other values at the same places, which are the result's own."""
    return SparseTensor.made(self._indices().clone(), values, self.shape, self.is_coalesced())


@answers_for("div")
def _div(self: Any, other: Any) -> Any:
    if not is_sparse(self) or (hasattr(other, "dim") and other.dim()):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    return _rescaled(self, F.div(self._values(), other))


def _by_value(name: str, each: bool) -> None:
    """An operator that leaves 0 as it is; where it is not linear (``each``), each place must be named once."""

    def answer(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        given = self.coalesce() if each else self
        return given.with_values(getattr(F, name)(given._values(), *args, **kwargs))

    ANSWERS[name] = answer


for _name in ("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac",
              "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "rad2deg", "relu", "sgn", "sign",
              "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"):  # fmt: skip
    _by_value(_name, True)
_by_value("neg", False)
for _row, _name in (("_pow_scalar", "pow"), ("_round", "round")):
    _by_value(_row, True)
    ANSWERS[_name] = ANSWERS.pop(_row)


@answers_for("threshold_backward")
def _threshold_backward(grad: Any, self: Any, threshold: Any) -> Any:
    passes = entries_at(self, grad._indices()) > threshold
    return grad.with_values(F.mul(grad._values(), passes))


@answers_for("any")
def _any(self: SparseTensor) -> Any:
    return self._values().any()


def _refusing(name: str, text: str) -> None:
    def answer(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(text)

    ANSWERS[name] = answer


_refusing("expand", "expand is unsupported for Sparse tensors")


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
