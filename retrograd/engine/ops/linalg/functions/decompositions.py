"""Eigenvalues, singular values, QR factors, and the largest few of them found by iteration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....calls.refusals import refuse_kind
from ....core.base import wrap
from ....core.dtypes import scalar_name
from ....core.registry import F
from ....deprecations import discourage
from ....random import generator_of
from ....return_types import named
from ....streams.normal import normal
from ....table.public import NAMESPACES, check_tensor, public
from ..products import adjoint

# Eigenvalues and eigenvectors.


@public("eigh", namespace="linalg", out=Out(exact=True))
def eigh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of hermitian matrices."""
    return named("linalg_eigh", *F._eigh(A, UPLO))


@public("eigvalsh", namespace="linalg", out=True)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues of hermitian matrices."""
    return F._eigh(A, UPLO)[0]


@public("eig", namespace="linalg", out=Out(rows=True))
def eig(A: Any) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of square matrices, complex."""
    return named("linalg_eig", *F._eig(A))


@public("eigvals", namespace="linalg", out=True)
def eigvals(A: Any) -> Any:  # noqa: N803
    """Eigenvalues of square matrices, complex."""
    return F._eig(A)[0]


# Singular value decompositions.


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@public("svd", namespace="linalg", out=Out(exact=True))
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular vectors and values."""
    _check_driver(driver)
    return named("linalg_svd", *F._svd(A, full_matrices))


@public("svd", out=Out(exact=True))
def old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:  # noqa: A002
    """``linalg.svd`` under its old name, which gives ``V`` rather than its adjoint."""
    u, s, vh = F._svd(input, not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        kind = input._sig.numpy
        return named(
            "svd", wrap(np.zeros((*input.shape[:-2], m, m), kind)), s, wrap(np.zeros((*input.shape[:-2], n, n), kind))
        )
    return named("svd", u, s, adjoint(vh))


@public("svdvals", namespace="linalg", out=True)
def svdvals(A: Any, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular values."""
    _check_driver(driver)
    return F._svd(A, False)[1]


# QR factors, and the Householder reflections that they are products of.


@public("qr", namespace="linalg", out=True)
def qr(A: Any, mode: str = "reduced") -> Any:  # noqa: N803
    """Orthogonal and triangular factors."""
    return named("linalg_qr", *F._qr(A, mode))


@public("qr", out=True)
def old_qr(input: Any, some: bool = True) -> Any:  # noqa: A002
    """``linalg.qr`` under its old name."""
    discourage("qr")
    return named("qr", *F._qr(input, "reduced" if some else "complete"))


@public("geqrf", out=Out(rows=True))
def geqrf(input: Any) -> Any:  # noqa: A002
    """Householder reflections of a QR decomposition, without gradient."""
    return named("geqrf", *F._geqrf(input))


def _check_reflections(name: str, A: Any, tau: Any) -> None:  # noqa: N803
    """``RuntimeError`` unless ``A`` ``(..., m, n)`` and ``tau`` ``(..., k)`` can be Householder reflections."""
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if tau.ndim != A.ndim - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if tuple(tau.shape[:-1]) != tuple(A.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau._sig.numpy != A._sig.numpy:
        raise RuntimeError(f"{name}: tau dtype {scalar_name(tau._sig.numpy)} does not match input dtype "
                           f"{scalar_name(A._sig.numpy)}")  # fmt: skip


@public("householder_product", namespace="linalg", out=Out(rows=True))
def householder_product(A: Any, tau: Any) -> Any:  # noqa: N803
    """The first columns of a product of Householder reflections."""
    name = "torch.linalg.householder_product"
    _check_reflections(name, A, tau)
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    refuse_kind("orgqr_cpu", A._sig.numpy, "wc")
    return F._householder_product(A, tau)


@public("orgqr", out=Out(rows=True))
def orgqr(input: Any, tau: Any) -> Any:  # noqa: A002
    """``linalg.householder_product`` under its old name."""
    return householder_product(input, tau)


@public("ormqr", out=Out(rows=True))
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:  # noqa: A002
    """A product of Householder reflections times ``other`` (or the other way round)."""
    name = "torch.ormqr"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    m, across = input.shape[-2], -2 if left else -1
    if other.shape[across] < tau.shape[-1]:
        raise RuntimeError(f"{name}: other.shape[{across}] must be greater than or equal to tau.shape[-1]")
    if other.shape[across] != m:
        raise RuntimeError(f"{name}: other.shape[{across}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[across], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{across}], input.shape[-1])")
    _check_reflections(name, input, tau)
    if other._sig.numpy != input._sig.numpy:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but input has dtype"
            f"{scalar_name(input._sig.numpy)} and other has dtype {scalar_name(other._sig.numpy)}"
        )
    refuse_kind("ormqr_cpu", input._sig.numpy, "wc")
    return F._ormqr(input, tau, other, left, transpose)


# The few largest singular values or eigenvalues of a matrix, found by iteration.


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
