"""Solutions of systems of equations, exact or by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied_with, in_columns
from ...aliasing.strided import contiguous_strides
from ...core.base import TensorBase
from ...core.dtypes import scalar_name
from ...core.registry import F
from ...kernels.sums import summed
from ...rules.matrix_checks import (
    UNKNOWN_PRECISION,
    LinAlgError,
    check_matrix,
    check_square,
    left_where_failed,
    takes_empty,
)
from ...switches.state import STATE
from ...table.rows import function
from .lu import factored, parts_of, permutation_of
from .products import adjoint

# Systems of equations, with any matrix or a triangular one, and inverses.

# -- solve


def zero_pivots(a: Any) -> Any:
    """Which pivot of each matrix, counted from 1, is the first that is zero; 0 where none is."""
    pivots = np.diagonal(factored(a, True)[0], axis1=-2, axis2=-1) == 0
    return np.where(pivots.any(-1), pivots.argmax(-1) + 1, 0).astype(np.int32)


def no_inverse(name: str, a: Any) -> LinAlgError:
    """The error for matrices of which one has no inverse."""
    which, place = _first_singular(a)
    return LinAlgError(
        f"{name}: {which}The diagonal element {place} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


def no_solution(name: str, a: Any) -> LinAlgError:
    """The error for systems of equations of which one has a singular matrix."""
    return LinAlgError(f"{name}: {_first_singular(a)[0]}The solver failed because the input matrix is singular.")


def _first_singular(a: Any) -> tuple[str, int]:
    """The first singular matrix of a batch in words, and its zero pivot."""
    places = zero_pivots(a).reshape(-1)
    first = int((places != 0).argmax())
    return f"(Batch element {first}): " if a.ndim > 2 else "", int(places[first])


def is_vector(a: Any, sizes: Any) -> bool:
    """Whether a right side of these sizes is a (batch of) vector(s), by torch's rule."""
    return len(sizes) == 1 or (len(a.shape) - 1 == len(sizes) and tuple(sizes) == tuple(a.shape[:-1]))


@takes_empty("linalg.solve")
def _solve(self: Any, other: Any, left: bool = True, check_errors: bool = True) -> Any:
    """Solve ``AX = B`` (or ``XA = B``); B ``(..., n)`` counts as a batch of vectors where shapes say so."""
    check_square("linalg.solve", self)
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {self.dtype} and B of type "
            f"{other.dtype} instead"
        )
    vector = is_vector(self, other.shape)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
    rhs = other[..., None] if vector else other
    if rhs.shape[-2 if left else -1] != self.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({self.shape[-2]}x{self.shape[-1]} and {rhs.shape[-2]}x{rhs.shape[-1]})"
        )
    try:
        out = _solved(self, rhs, left)
    except np.linalg.LinAlgError:
        if check_errors:
            raise no_solution("torch.linalg.solve", self) from None
        behind = left_by_zero_pivots(self, rhs, left)
        out = left_where_failed(zero_pivots(self) != 0, self, behind, lambda good: _solved(good, rhs, left))
    out = out[..., 0] if vector else out
    return in_columns(out) if left else copied_with(contiguous_strides(out.shape), out)


def _solved(a: Any, b: Any, left: bool) -> Any:
    return np.linalg.solve(a, b) if left else np.linalg.solve(a.mT, b.mT).mT


def creates_graph(operand: Any) -> bool:
    """Whether a rule that is given this operand records what it does, and not for a transpose alone."""
    return isinstance(operand, TensorBase) and STATE.grad_enabled and STATE.forward_grad_enabled


def _solve_grads(g: Any, needs: Any, self: Any, other_sizes: Any, result: Any, left: bool) -> Any:
    """The gradients of both sides: that of the right one is solved for, and that of the matrix made of it.

    Singular matrices, which ``solve_ex`` lets pass, are refused where a graph is created.
    """
    vector = is_vector(self, other_sizes)
    side = F._solve(adjoint(self), F.unsqueeze(g, -1) if vector else g, left, creates_graph(self))
    into_self = into_other = None
    if needs[0]:
        columns = F.unsqueeze(result, -1) if vector else result
        shares = F._matmul(side, adjoint(columns)) if left else F._matmul(adjoint(columns), side)
        into_self = F.sum_to_size(-shares, tuple(self.shape))
    if needs[1]:
        into_other = F.sum_to_size(F._squeeze_dim(side, -1) if vector else side, tuple(other_sizes))
    return into_self, into_other


def _factors(self: Any) -> Any:
    """The factors that PyTorch works with: of a matrix laid out by rows those of its transpose."""
    by_rows = self.flags.c_contiguous and self.dtype.kind != "c"
    return factored(self.mT if by_rows else self, True)


FACTORS = {"LU": lambda self: _factors(self)[0], "pivots": lambda self: _factors(self)[1]}
"""What PyTorch's nodes keep of elimination, which the rules here do again."""

function("_solve", _solve, node="LinalgSolveExBackward0", as_given=True, reorders=True, tensors="self other",
         joint=_solve_grads, for_hooks=FACTORS)  # fmt: skip


# -- triangular


def substituted(a: Any, b: Any, upper: bool) -> Any:
    """Solve row by row, as LAPACK does: a zero on the diagonal gives infinities rather than an error."""
    n = a.shape[-1]
    x = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)
    for i in range(n - 1, -1, -1) if upper else range(n):
        rest = b[..., i, :] - np.matmul(a[..., i, None, :], x)[..., 0, :]
        x[..., i, :] = rest / a[..., i, i, None]
    return x


def left_by_zero_pivots(a: Any, b: Any, left: bool = True) -> Any:
    """What elimination leaves of ``AX = B`` (or ``XA = B``) where a pivot is zero: LAPACK divides by it."""
    both, pivots = factored(a, True)
    lower, upper = parts_of(both)
    exchanges = permutation_of(pivots, a.shape[-1], a.dtype)
    with np.errstate(all="ignore"):
        if left:
            return substituted(upper, substituted(lower, np.matmul(exchanges.mT, b), False), True)
        turned = substituted(lower.mT, substituted(upper.mT, b.mT, False), True)
        order = np.broadcast_to(exchanges.argmax(-1)[..., None], (*turned.shape[:-1], 1))
        return np.take_along_axis(turned, order, -2).mT


def _triangle(a: Any, upper: bool, unitriangular: bool) -> Any:
    part = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = np.arange(a.shape[-1])
        part[..., n, n] = 1
    return part


def _solve_triangular(self: Any, other: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Solve ``AX = B`` (or ``XA = B``) with a triangular A, by substitution where it is small or singular."""
    check_square("linalg.solve_triangular", self)
    check_matrix("linalg.solve_triangular", "B", other)
    a, b = _triangle(self, upper, unitriangular), other.astype(self.dtype, copy=False)
    if not left:
        a, b, upper = a.mT, b.mT, not upper
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
            f" ({self.shape[-2]}x{self.shape[-1]} and {other.shape[-2]}x{other.shape[-1]})"
        )
    try:
        out = np.linalg.solve(a, b) if a.size > 64 else substituted(a, b, upper)
    except np.linalg.LinAlgError:
        out = substituted(a, b, upper)
    return out if left else np.ascontiguousarray(out.mT)


def _triangular_grads(
    g: Any, needs: Any, self: Any, other_sizes: Any, result: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:  # fmt: skip
    """The same for a triangular matrix."""
    side = F._solve_triangular(adjoint(self), g, not upper, left, unitriangular)
    into_self = None
    if needs[0]:
        shares = -(F._matmul(side, adjoint(result)) if left else F._matmul(adjoint(result), side))
        step = 1 if unitriangular else 0
        into_self = F.sum_to_size(F.triu(shares, step) if upper else F.tril(shares, -step), tuple(self.shape))
    return into_self, F.sum_to_size(side, tuple(other_sizes)) if needs[1] else None


for _name, _node, _keeps in (
    ("_solve_triangular", "LinalgSolveTriangularBackward0", ""),
    ("_triangular_solve", "TriangularSolveBackward0", "other"),
):
    function(
        _name, _solve_triangular, node=_node, tensors="self other", joint=_triangular_grads, keeps=_keeps,
        layout="columns",
    )  # fmt: skip


# -- inverse


def _inv(self: Any, check_errors: bool = True) -> Any:
    check_square("linalg.inv", self)
    try:
        return np.linalg.inv(self)
    except np.linalg.LinAlgError:
        if check_errors:
            raise no_inverse("linalg.inv", self) from None
    behind = left_by_zero_pivots(self, np.eye(self.shape[-1], dtype=self.dtype))
    return left_where_failed(zero_pivots(self) != 0, self, behind, np.linalg.inv)


function("_inv", _inv, node="LinalgInvExBackward0", as_given=True, layout="columns",
         self=lambda g, result: -F._matmul(adjoint(result), F._matmul(g, adjoint(result))))  # fmt: skip


# Pseudo-inverses and least squares.


def cutoffs(largest: Any, side: int, atol: Any, rtol: Any) -> Any:
    """Below which size singular values count as zero."""
    if rtol is None:
        given = atol is not None and np.any(np.asarray(atol) > 0)
        rtol = 0.0 if given else side * np.finfo(largest.dtype).eps
    return np.maximum(0.0 if atol is None else np.asarray(atol), np.asarray(rtol) * largest)


def _pinv(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse ``(..., n, m)``: singular (or eigen-) values up to a tolerance count as 0."""
    if self.ndim < 2 or self.dtype.char not in "fdFD":
        raise RuntimeError(
            f"linalg.pinv({scalar_name(self.dtype)}{{{list(self.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    if not self.size:
        return np.zeros(self.shape[:-2] + self.shape[:-3:-1], self.dtype)
    if hermitian:
        values, v = np.linalg.eigh(self)
        size = np.abs(values)
        limit = cutoffs(size.max(-1), max(self.shape[-2:]), atol, rtol)
        inverse = np.where(size <= limit[..., None], 0, 1 / values).astype(values.dtype)
        return (v * inverse[..., None, :]) @ v.mT.conj()
    u, s, vh = np.linalg.svd(self, full_matrices=False)
    limit = cutoffs(s[..., 0], max(self.shape[-2:]), atol, rtol)
    inverse = np.where(s <= limit[..., None], 0, 1 / s).astype(s.dtype)  # NaN stays
    return (vh.mT.conj() * inverse[..., None, :]) @ u.mT.conj()


def pinv_back(g: Any, self: Any, result: Any) -> Any:
    """The gradient of a pseudo-inverse."""
    p, ph, gh = result, adjoint(result), adjoint(g)
    m, n = self.shape[-2:]
    if m <= n:
        k = F._matmul(gh, p)
        kp = F._matmul(k, ph)
        return (
            -adjoint(F._matmul(p, k)) + kp - F._matmul(F._matmul(self, p), kp)
            + F._matmul(F._matmul(ph, p), gh - F._matmul(k, self))
        )  # fmt: skip
    k = F._matmul(p, gh)
    pk = F._matmul(ph, k)
    return (
        -adjoint(F._matmul(k, p)) + F._matmul(F._matmul(gh - F._matmul(self, k), p), ph)
        + pk - F._matmul(F._matmul(pk, p), self)
    )  # fmt: skip


function("_pinv", _pinv, node="LinalgPinvBackward0", as_given=True, self=pinv_back)


def _lstsq(self: Any, b: Any, rcond: Any = None, driver: str | None = None) -> Any:
    """The solution for matrices or vectors ``b``, its squared residuals, ranks, singular values (as the driver has)."""
    if self.dtype.char not in "fdFD":
        raise RuntimeError(UNKNOWN_PRECISION)
    columns = b if b.ndim == self.ndim else b[..., None]
    solution = np.matmul(_pinv(self, None, rcond), columns)
    residuals = values = np.zeros(0, np.abs(self[..., :0]).dtype)
    rank = np.zeros(0, np.int64)
    if self.shape[-2] > self.shape[-1] and driver not in (None, "gelsy"):
        residuals = summed(np.abs(np.matmul(self, solution) - columns) ** 2, (solution.ndim - 2,))
    if driver != "gels":
        rank = np.asarray(np.linalg.matrix_rank(self), np.int64)
    if driver in ("gelsd", "gelss"):
        values = np.linalg.svd(self, compute_uv=False)
    return _within_sides(solution, b) if columns is b else solution[..., 0], residuals, rank, values


def _within_sides(solution: Any, b: Any) -> Any:
    """The solution in the memory of the sides that LAPACK puts it in the place of: there may be more of those."""
    rows, count = solution.shape[-2], max(solution.shape[-2], b.shape[-2])
    room = in_columns(np.zeros((*solution.shape[:-2], count, solution.shape[-1]), solution.dtype))
    room[..., :rows, :] = solution
    return room[..., :rows, :]


def _lstsq_back(grads: Any, needs: Any, self: Any, b: Any, rcond: Any) -> Any:
    vector = len(b.shape) < len(self.shape)
    g, columns = (F.unsqueeze(t, -1) if vector else t for t in (grads[0], b))
    p = F._pinv(self, None, rcond)
    mine = pinv_back(F._matmul(g, adjoint(columns)), self, p)
    theirs = F._matmul(adjoint(p), g)
    if tuple(grads[1].shape) == (*columns.shape[:-2], columns.shape[-1]):  # of squared residuals, where there are any
        solution = F._matmul(p, columns)
        away = (F._matmul(self, solution) - columns) * F.unsqueeze(grads[1] * 2, -2)
        mine, theirs = mine + F._matmul(away, adjoint(solution)), theirs - away
    return mine if needs[0] else None, (F._squeeze_dim(theirs, -1) if vector else theirs) if needs[1] else None


function("_lstsq", _lstsq, node="LinalgLstsqBackward0", as_given=True,
         tensors="self b", joint=_lstsq_back, keeps="solution",
         results="solution residuals rank singular_values", nondiff=(2, 3))  # fmt: skip
