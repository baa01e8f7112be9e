"""QR factors of matrices, and the reflections that LAPACK keeps of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules.by_number import times
from ...rules.matrix_checks import check_dtype, check_matrix
from ...table.registry import F
from ...table.rows import function, underivable
from .products import adjoint


def _qr(self: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix("linalg.qr", "A", self)
    check_dtype("linalg.qr", self)
    factors: Any = np.linalg.qr
    return (np.zeros(0, self.dtype), factors(self, "r")) if mode == "r" else tuple(factors(self, mode))


def _half_diagonal(x: Any) -> Any:
    """``x + x^H`` with the diagonal counted once."""
    both = x + adjoint(x)
    return both - times(F.diag_embed(F.diagonal(both, 0, -2, -1)), 0.5)


def _qr_square(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    inner = _half_diagonal(F.triu(F._matmul(gr, adjoint(r)) - F._matmul(adjoint(q), gq), 0))
    return F._solve_triangular(adjoint(r), F._matmul(q, inner) + gq, False, False)


def _qr_back(g: Any, result: Any, mode: str) -> Any:
    """The gradient of QR for ``A`` ``(..., m, n)``; where m < n, the columns behind the first m follow from Q."""
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    (gq, gr), (q, r) = g, result
    m, n = q.shape[-2], r.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if m >= n:
        return _qr_square(gq, gr, q, r)
    right = F._slice(gr, -1, m, n)
    gq = gq + F._matmul(F._matmul(q, F._slice(r, -1, m, n)), adjoint(right))
    left = _qr_square(gq, F._slice(gr, -1, 0, m), q, F._slice(r, -1, 0, m))
    return F.cat([left, F._matmul(q, right)], -1)


function("_qr", _qr, node="LinalgQrBackward0", as_given=True, outputs=2, self=_qr_back, layout="columns")


def _geqrf(self: Any) -> Any:
    """Reflections below the triangle, as LAPACK leaves them (NumPy gives them transposed), and their scales."""
    check_dtype("geqrf", self)
    h, tau = np.linalg.qr(self, mode="raw")
    return np.ascontiguousarray(h.swapaxes(-2, -1)), tau


underivable("_geqrf", _geqrf, outputs=2, layout="columns")
