"""The few largest singular values or eigenvalues of a matrix, found by iteration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....random import generator_of
from ....streams.normal import normal
from ....table.public import NAMESPACES, check_tensor, public
from ....table.registry import F
from ....tensors.base import wrap
from ..products import adjoint


def _basis(A: Any, q: int, niter: int, M: Any) -> Any:  # noqa: N803
    """An orthonormal basis that nearly holds the range of ``A`` (Halko, Martinsson and Tropp 2009, algorithm 4.4)."""
    qr = NAMESPACES["linalg"]["qr"]
    noise = normal(generator_of(None), A.shape[-1] * q, A._sig.numpy).reshape(-1, q)
    whole = A if M is None else A - M
    found = qr(whole.matmul(wrap(noise)))[0]
    for _ in range(niter):
        found = qr(adjoint(whole).matmul(found))[0]
        found = qr(whole.matmul(found))[0]
    return found


@public("svd_lowrank", method=False)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Any, Any, Any]:  # noqa: N803
    """Approximate ``U, S, V`` of the ``q`` largest singular values of ``A`` (of ``A - M``), by random projection."""
    check_tensor("svd_lowrank", A)
    q, niter = min(6, *A.shape[-2:]) if q is None else q, 2 if niter is None else niter
    m, n = A.shape[-2:]
    wide = m < n
    if wide:
        A, M = adjoint(A), None if M is None else adjoint(M)  # noqa: N806
    basis = _basis(A, q, niter, M)
    small = adjoint(basis).matmul(A if M is None else A - M)
    left, values, right = NAMESPACES["linalg"]["svd"](small, full_matrices=False)
    left, right = basis.matmul(left), adjoint(right)
    return (right, values, left) if wide else (left, values, right)


@public("pca_lowrank", method=False)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:  # noqa: N803
    """Approximate principal components: ``svd_lowrank`` of ``A`` without the means of its columns."""
    check_tensor("pca_lowrank", A)
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


@public("lobpcg", method=False)
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,  # noqa: N803
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None,
    tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The ``k`` largest (or smallest) eigenvalues of symmetric ``A x = l B x`` and their vectors (Knyazev 2001).

    Gradients flow into the eigenvalues, not through the vectors.
    """
    check_tensor("lobpcg", A)
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"unknown method {method!r}; it is 'basic' or 'ortho'")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    size = A.shape[-1]
    shape = (*A.shape[:-2], size, n or k)
    start = normal(generator_of(None), math.prod(shape), A._sig.numpy).reshape(shape) if X is None else X._array
    matrices = [None if t is None else t._array for t in (A, B, iK)]
    limit = (np.finfo(A._array.real.dtype).eps ** 0.5) if tol is None else tol
    steps = 1000 if niter is None or niter < 0 else niter
    held = wrap(_iterated(matrices, start.astype(A._sig.numpy), k, steps, limit, largest is not False))
    top = F._sum_dim(held.conj() * A.matmul(held), -2, False)
    return (top if not top.is_complex() else F.real(top)), held


def _iterated(matrices: Any, x: Any, k: int, steps: int, tol: float, largest: bool) -> Any:
    """Rayleigh and Ritz on the span of the vectors, their residuals and their last steps."""
    a, b, preconditioner = matrices
    values, x = _ritz(a, b, x, k, largest)
    before = None
    for _ in range(steps):
        residual = a @ x - (x if b is None else b @ x) * values[..., None, :]
        if np.linalg.norm(residual) <= tol * np.linalg.norm(a) * np.linalg.norm(x):
            break
        parts = [x, residual if preconditioner is None else preconditioner @ residual]
        values, new = _ritz(a, b, np.concatenate(parts if before is None else [*parts, before], -1), k, largest)
        before, x = new - x @ (np.swapaxes(x, -1, -2).conj() @ (new if b is None else b @ new)), new
    return x


def _ritz(a: Any, b: Any, span: Any, k: int, largest: bool) -> tuple[Any, Any]:
    """The best ``k`` eigenvalues and vectors in a span."""
    basis = np.linalg.qr(span)[0]
    turned = np.swapaxes(basis, -1, -2).conj()
    inner = turned @ a @ basis
    if b is not None:
        root = np.linalg.inv(np.linalg.cholesky(turned @ b @ basis))
        basis = basis @ np.swapaxes(root, -1, -2).conj()
        inner = np.swapaxes(basis, -1, -2).conj() @ a @ basis
    values, vectors = np.linalg.eigh(inner)
    order = slice(None, -k - 1, -1) if largest else slice(None, k)
    return values[..., order], basis @ vectors[..., order]
