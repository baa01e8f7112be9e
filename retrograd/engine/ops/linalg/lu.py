"""Triangular factors with row exchanges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied_with, in_columns
from ...aliasing.strided import contiguous_strides
from ...core.registry import F
from ...rules.matrix_checks import check_dtype, takes_empty
from ...table.rows import function
from .products import adjoint


def check_factorable(name: str, t: Any) -> None:
    """``RuntimeError`` for anything that is not a matrix or a batch of them."""
    if t.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(t.shape)} instead")


@takes_empty("linalg.lu_factor")
def factored(self: Any, pivot: bool) -> tuple[Any, Any]:
    """Both factors in one matrix, and the row exchanges as LAPACK counts them (from 1)."""
    check_dtype("linalg.lu_factor", self)
    check_factorable("torch.lu_factor", self)
    m, n = self.shape[-2:]
    k = min(m, n)
    out = np.array(self).reshape(math.prod(self.shape[:-2]), m, n)
    pivots = np.tile(np.arange(1, k + 1, dtype=np.int32), (len(out), 1))
    every = np.arange(len(out))
    for j in range(k):
        if pivot:
            best = j + np.argmax(_size(out[:, j:, j]), axis=1) if len(out) else every
            pivots[:, j] = best + 1
            row = out[every, best].copy()
            out[every, best] = out[:, j]
            out[:, j] = row
        divisor = out[:, j, j]
        divisor = np.where(divisor == 0, 1, divisor)
        out[:, j + 1 :, j] /= divisor[:, None]
        out[:, j + 1 :, j + 1 :] -= out[:, j + 1 :, j, None] * out[:, j, None, j + 1 :]
    return out.reshape(self.shape), pivots.reshape(*self.shape[:-2], k)


def _size(column: Any) -> Any:
    """How LAPACK measures a candidate for the pivot: both parts of a complex number added."""
    return np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)


def permutation_of(pivots: Any, m: int, dtype: Any) -> Any:
    """The matrix ``P`` with ``A = P L U``."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    out = np.zeros((len(flat), m, m), dtype)
    for b, exchanges in enumerate(flat):
        order = np.arange(m)
        for i, j in enumerate(exchanges):
            order[i], order[j - 1] = order[j - 1], order[i]
        out[b, order, np.arange(m)] = 1
    return out.reshape(*pivots.shape[:-1], m, m)


def parts_of(both: Any) -> tuple[Any, Any]:
    """Unit lower and upper factor of the matrix that holds both."""
    m, n = both.shape[-2:]
    k = min(m, n)
    lower = np.tril(both[..., :k], -1)
    lower[..., np.arange(k), np.arange(k)] = 1
    return lower, np.triu(both[..., :k, :])


def _lu_factor(self: Any, pivot: bool = True) -> Any:
    return factored(self, pivot)


def _lu(self: Any, pivot: bool = True) -> Any:
    both, pivots = factored(self, pivot)
    lower, upper = parts_of(both)
    turn = permutation_of(pivots, self.shape[-2], self.dtype) if pivot else np.zeros(0, self.dtype)
    return lower, upper, turn


def _first(x: Any, dim: int, count: int) -> Any:
    """The first ``count`` entries of a dimension, which may be all."""
    return x if x.shape[dim] == count else F._slice(x, dim, 0, count)


def _factors_back(gl: Any, gu: Any, p: Any, lower: Any, upper: Any) -> Any:
    """The gradient of ``P L U`` from those of its factors; the smaller side of a non-square matrix decides."""
    m, n = lower.shape[-2], upper.shape[-1]
    k = min(m, n)
    l1, u1 = _first(lower, -2, k), _first(upper, -1, k)
    below = F._matmul(adjoint(l1), _first(gl, -2, k))
    above = F._matmul(_first(gu, -1, k), adjoint(u1))
    rest = None
    if m < n:
        rest = F._slice(gu, -1, k, n)
        below = below - F._matmul(rest, adjoint(F._slice(upper, -1, k, n)))
        rest = F._solve_triangular(adjoint(l1), rest, True, True, True)
    elif m > n:
        rest = F._slice(gl, -2, k, m)
        above = above - F._matmul(adjoint(F._slice(lower, -2, k, m)), rest)
        rest = F._solve_triangular(adjoint(u1), rest, False, False)
    inner = F.tril(below, -1) + F.triu(above, 0)
    inner = F._solve_triangular(adjoint(l1), inner, True, True, True)
    whole = F._solve_triangular(adjoint(u1), inner, False, False)
    if rest is not None:
        whole = F.cat([whole, rest], -1 if m < n else -2)
    return F._matmul(p, whole) if len(p.shape) > 1 else whole


def _lu_back(g: Any, P: Any, L: Any, U: Any) -> Any:  # noqa: N803
    return _factors_back(g[0], g[1], P, L, U)


def _lu_factor_back(g: Any, LU: Any, pivots: Any, pivot: bool) -> Any:  # noqa: N803
    lower, upper, p = F._lu_unpack(LU, pivots)
    k = min(LU.shape[-2:])
    gl = F.tril(F._slice(g[0], -1, 0, k), -1)
    gu = F.triu(F._slice(g[0], -2, 0, k), 0)
    return _factors_back(gl, gu, p, lower, upper)


def _lu_unpack(self: Any, pivots: Any) -> Any:
    return (*parts_of(self), permutation_of(pivots, self.shape[-2], self.dtype))


def _lu_unpack_back(g: Any, self_sizes: Any) -> Any:
    m, n = self_sizes[-2:]
    k = min(m, n)
    lower, upper = F.tril(g[0], -1), F.triu(g[1], 0)
    if n > k:
        lower = F.cat([lower, F.zeros_like(F._slice(upper, -1, k, n))], -1)
    if m > k:
        upper = F.cat([upper, F.zeros_like(F._slice(lower, -2, k, m))], -2)
    return lower + upper


function(
    "_lu_factor",
    _lu_factor,
    node="LinalgLuFactorExBackward0",
    as_given=True,
    results="LU pivots",
    nondiff=(1,),
    self=_lu_factor_back,
    layout="columns",
)
function(
    "_lu", _lu, node="LinalgLuBackward0", as_given=True, results="L U P", nondiff=(2,), self=_lu_back, keeps="pivot"
)
function("_lu_unpack", _lu_unpack, node="LuUnpackBackward0", as_given=True,
         tensors="self pivots", outputs=3, nondiff=(2,),
         self=_lu_unpack_back)  # fmt: skip


# -- systems solved by factors


def _lu_solve(self: Any, pivots: Any, other: Any, left: bool, adjointly: bool) -> Any:
    """As ``_solved``, in columns; from the right in rows."""
    found = _solved(self, pivots, other, left, adjointly)
    return in_columns(found) if left else copied_with(contiguous_strides(found.shape), found)


def _solved(self: Any, pivots: Any, other: Any, left: bool, adjointly: bool) -> Any:
    """``X`` with ``A X = B`` (or ``X A = B``), or of the adjoint of ``A``; ``self`` and ``pivots`` are its factors."""
    lower, upper = parts_of(self)
    p = permutation_of(pivots, self.shape[-2], self.dtype)
    if left and not adjointly:
        side = F._solve_triangular(lower, p.mT @ other, False, True, True)
        return F._solve_triangular(upper, side, True, True)
    if left:
        side = F._solve_triangular(adjoint(upper), other, False, True)
        return p @ F._solve_triangular(adjoint(lower), side, True, True, True)
    if adjointly:
        side = F._solve_triangular(adjoint(lower), other @ p, True, False, True)
        return F._solve_triangular(adjoint(upper), side, False, False)
    side = F._solve_triangular(upper, other, True, False)
    return F._solve_triangular(lower, side, False, False, True) @ p.mT


def _lu_solve_other(g: Any, self: Any, pivots: Any, other_sizes: Any, left: bool, adjointly: bool) -> Any:
    return F.sum_to_size(F._lu_solve(self, pivots, g, left, not adjointly), tuple(other_sizes))


def _lu_solve_self(g: Any, self: Any, pivots: Any, result: Any, left: bool, adjointly: bool) -> Any:
    """The gradient of the factors, from that of the matrix they represent."""
    side = F._lu_solve(self, pivots, g, left, not adjointly)
    a, b = (result, side) if adjointly else (side, result)
    into_matrix = -(F._matmul(a, adjoint(b)) if left else F._matmul(adjoint(b), a))
    into_matrix = F.sum_to_size(into_matrix, tuple(self.shape))
    lower, upper, p = F._lu_unpack(self, pivots)
    below = F._matmul(F._matmul(adjoint(p), into_matrix), adjoint(upper))
    above = F._matmul(adjoint(F._matmul(p, lower)), into_matrix)
    return F.tril(below, -1) + F.triu(above, 0)


function("_lu_solve", _lu_solve, node="LinalgLuSolveBackward0", as_given=True,
         tensors="self pivots other", self=_lu_solve_self,
         other=_lu_solve_other)  # fmt: skip
