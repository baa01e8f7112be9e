"""Pseudo-inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import in_columns
from ...kernels.sums import summed
from ...rules.matrix_checks import UNKNOWN_PRECISION
from ...table.registry import F
from ...table.rows import function
from ...tensors.dtype_names import scalar_name
from .products import adjoint


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
