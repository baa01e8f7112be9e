"""Decompositions of matrices: QR, singular values, eigenvalues; pseudo-inverses, least squares, exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliasing.views import requires_grad
from ..table.registry import F
from ..table.rows import function, underivable
from ..tensors.base import TensorBase
from .arithmetic import conj
from .matrix_checks import LinAlgError, check_dtype, check_matrix, check_square
from .products import adjoint
from .statistics import raw

# -- QR


def _qr(self: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_dtype("linalg.qr", self)
    factors: Any = np.linalg.qr
    return (np.zeros(0, self.dtype), factors(self, "r")) if mode == "r" else tuple(factors(self, mode))


def _half_diagonal(x: Any) -> Any:
    """``x + x^H`` with the diagonal counted once."""
    both = x + adjoint(x)
    return both - F.diag_embed(F.diagonal(both, 0, -2, -1)) * 0.5


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


function("_qr", _qr, node="LinalgQrBackward0", outputs=2, self=_qr_back, layout="columns")


# -- singular values


def _svd(self: Any, full_matrices: bool = True) -> Any:
    check_dtype("linalg.svd", self)
    check_matrix("linalg.svd", "A", self)
    try:
        u, s, vh = np.linalg.svd(self, full_matrices=full_matrices)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.svd: The algorithm failed to converge: {error}") from None
    return u, s, vh


def absent(g: Any) -> bool:
    """Whether no gradient came for an output, so that terms which may divide by zero are left out."""
    return not (isinstance(g, TensorBase) and requires_grad(g)) and not raw(g).any()


def _gaps(values: Any) -> Any:
    """``v_j - v_i``, with ones on the diagonal."""
    return F.unsqueeze(values, -2) - F.unsqueeze(values, -1) + F.diag_embed(F.ones_like(values))


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _svd_back(g: Any, self: Any, result: Any) -> Any:
    """The gradient of ``A = U diag(S) Vh``; U and Vh count up to a phase that they share, which is checked."""
    (gu, gs, gvh), (u, s, vh) = g, result
    m, n = self.shape[-2:]
    k = min(m, n)
    u, gu = F._slice(u, -1, 0, k), F._slice(gu, -1, 0, k)
    vh, gvh = F._slice(vh, -2, 0, k), F._slice(gvh, -2, 0, k)
    if absent(gu) and absent(gvh):
        return F._matmul(u * F.unsqueeze(gs, -2), vh)
    _check_phase(gu, gvh, u, vh)
    left = _skew(F._matmul(adjoint(u), gu))
    right = _skew(F._matmul(vh, adjoint(gvh)))
    inner = (left * F.unsqueeze(s, -2) + F.unsqueeze(s, -1) * right) / _gaps(s * s) + F.diag_embed(gs)
    if raw(self).dtype.kind == "c":
        inner = inner + F.diag_embed(F.diagonal(left, 0, -2, -1) / (2 * s))
    if m > k:
        beyond = gu - F._matmul(u, F._matmul(adjoint(u), gu))
        return F._matmul(F._matmul(u, inner) + beyond / F.unsqueeze(s, -2), vh)
    if n > k:
        beyond = gvh - F._matmul(F._matmul(gvh, adjoint(vh)), vh)
        return F._matmul(u, F._matmul(inner, vh) + beyond / F.unsqueeze(s, -1))
    return F._matmul(u, F._matmul(inner, vh))


def _check_phase(gu: Any, gvh: Any, u: Any, vh: Any) -> None:
    """Complex singular vectors are known up to a phase; a loss that depends on it has no gradient."""
    a, b = raw(u), raw(vh)
    if a.dtype.kind != "c":
        return
    turned = np.einsum("...ij,...ij->...j", a.conj(), raw(gu)) + np.einsum("...ij,...ij->...i", b, raw(gvh).conj())
    if not np.allclose(turned.imag, 0, atol=1e-2):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this quantity, so it is ill-defined."
        )


function(
    "_svd",
    _svd,
    node="LinalgSvdBackward0",
    outputs=3,
    self=_svd_back,
    keeps="full_matrices self_sizes",
    layout="columns",
)


# -- eigenvalues


def _eigh(self: Any, UPLO: str = "L") -> Any:  # noqa: N803
    check_square("linalg.eigh", self)
    triangle: Any = UPLO
    if str(UPLO).upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    try:
        values, vectors = np.linalg.eigh(self, triangle)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.eigh: The algorithm failed to converge: {error}") from None
    return values, vectors


def _eigh_back(g: Any, result: Any) -> Any:
    (gl, gv), (values, v) = g, result
    if absent(gv):
        return F._matmul(v * F.unsqueeze(gl, -2), adjoint(v))
    inner = F._matmul(adjoint(v), gv) / _gaps(values)
    inner = inner - F.diag_embed(F.diagonal(inner, 0, -2, -1)) + F.diag_embed(gl)
    full = F._matmul(v, F._matmul(inner, adjoint(v)))
    return (full + adjoint(full)) * 0.5


def _eigh_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    values, v = results
    inner = F._matmul(adjoint(v), F._matmul(tangents[0], v))
    along = F.diagonal(inner, 0, -2, -1)
    turned = (inner - F.diag_embed(along)) / _gaps(values)
    return F.real(along) if raw(along).dtype.kind == "c" else along, F._matmul(v, turned)


function("_eigh", _eigh, node="LinalgEighBackward0", outputs=2, self=_eigh_back, jvp=_eigh_jvp, layout="columns")


def _eig(self: Any) -> Any:
    check_square("linalg.eig", self)
    values, vectors = np.linalg.eig(self)
    kind = np.result_type(self.dtype, np.complex64)
    return values.astype(kind), vectors.astype(kind)


def _eig_back(g: Any, result: Any) -> Any:
    (gl, gv), (values, v) = g, result
    vh = adjoint(v)
    if not absent(gv):
        inner = F._matmul(vh, gv)
        along = F.real(F.diagonal(inner, 0, -2, -1))
        inner = (inner - F._matmul(vh, v * F.unsqueeze(along, -2))) / conj(_gaps(values))
        inner = inner - F.diag_embed(F.diagonal(inner, 0, -2, -1)) + F.diag_embed(gl)
    else:
        inner = F.diag_embed(gl)
    return F._solve(vh, F._matmul(inner, vh), True)


function("_eig", _eig, node="LinalgEigBackward0", outputs=2, self=_eig_back, layout="columns")


# -- pseudo-inverse and least squares


def cutoffs(largest: Any, side: int, atol: Any, rtol: Any) -> Any:
    """Below which size singular values count as zero."""
    if rtol is None:
        given = atol is not None and np.any(np.asarray(atol) > 0)
        rtol = 0.0 if given else side * np.finfo(largest.dtype).eps
    return np.maximum(0.0 if atol is None else np.asarray(atol), np.asarray(rtol) * largest)


def _pinv(self: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse ``(..., n, m)``: singular (or eigen-) values up to a tolerance count as 0."""
    check_dtype("linalg.pinv", self)
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


function("_pinv", _pinv, node="LinalgPinvBackward0", self=pinv_back)


def _lstsq(self: Any, b: Any, rcond: Any = None, driver: str | None = None) -> Any:
    """The solution for matrices or vectors ``b``, its squared residuals, ranks, singular values (as the driver has)."""
    check_dtype("linalg.lstsq", self)
    columns = b if b.ndim == self.ndim else b[..., None]
    solution = np.matmul(_pinv(self, None, rcond), columns)
    residuals = values = np.zeros(0, np.abs(self[..., :0]).dtype)
    rank = np.zeros(0, np.int64)
    if self.shape[-2] > self.shape[-1] and driver not in (None, "gelsy"):
        residuals = np.add.reduce(np.abs(np.matmul(self, solution) - columns) ** 2, -2)
    if driver != "gels":
        rank = np.asarray(np.linalg.matrix_rank(self), np.int64)
    if driver in ("gelsd", "gelss"):
        values = np.linalg.svd(self, compute_uv=False)
    return solution if columns is b else solution[..., 0], residuals, rank, values


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


function("_lstsq", _lstsq, node="LinalgLstsqBackward0", tensors="self b", joint=_lstsq_back, keeps="solution",
         results="solution residuals rank singular_values", nondiff=(2, 3))  # fmt: skip


# -- exponential

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(self: Any) -> Any:
    """The exponential of matrices, by Pade approximation of degree 13 with scaling and squaring."""
    check_square("linalg.matrix_exp", self, half=True)
    if not self.size:
        return self.copy()
    wide = self.astype(np.result_type(self.dtype, np.float64))
    size = np.abs(wide).sum(-2).max(-1)
    squarings = np.maximum(0, np.ceil(np.log2(np.maximum(size, 1e-300) / 5.37))).astype(int)
    a = wide / (2.0**squarings)[..., None, None]
    eye = np.eye(a.shape[-1])
    a2 = a @ a
    a4, a6 = a2 @ a2, a2 @ a2 @ a2
    b = _PADE
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    odd = a @ odd
    out = np.linalg.solve(even - odd, even + odd)
    for i in range(int(squarings.max())):
        out = np.where((squarings > i)[..., None, None], out @ out, out)
    return out.astype(self.dtype)


def _matrix_exp_back(g: Any, self: Any) -> Any:
    """The derivative stands beside the exponential of a block matrix."""
    n = self.shape[-1]
    ah = adjoint(self)
    top = F.cat([ah, g], -1)
    bottom = F.cat([F.zeros_like(ah), ah], -1)
    return F._slice(F._slice(F._matrix_exp(F.cat([top, bottom], -2)), -2, 0, n), -1, n, 2 * n)


function(
    "_matrix_exp", _matrix_exp, node="LinalgMatrixExpBackward0", self=_matrix_exp_back,
    # The rule is linear in g only as a whole, so it is not transposed but applied to the adjoint, whose adjoint it is.
    jvp=lambda primal, tangents, results: _matrix_exp_back(tangents[0], adjoint(primal[0])),
)  # fmt: skip


def _geqrf(self: Any) -> Any:
    """Reflections below the triangle, as LAPACK leaves them (NumPy gives them transposed), and their scales."""
    check_dtype("geqrf", self)
    h, tau = np.linalg.qr(self, mode="raw")
    return np.ascontiguousarray(h.swapaxes(-2, -1)), tau


underivable("_geqrf", _geqrf, outputs=2, layout="columns")
