"""``torch.linalg``, and its functions' older names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ops.products import adjoint
from ...ops.solving import LinAlgError, bad_minor, is_positive_definite
from ...return_types import named
from ...table.public import NAMESPACES, public
from ...table.registry import F
from ...tensors.base import TensorBase, wrap
from ...tensors.dtypes import scalar_name


def _number(value: Any) -> Any:
    return value._array if isinstance(value, TensorBase) else value


def no_errors(A: Any) -> Any:  # noqa: N803
    """The ``info`` of a success: 0 for every matrix."""
    return wrap(np.zeros(A.shape[:-2], np.int32))


def _first_zero_pivot(A: Any) -> Any:  # noqa: N803
    """Which pivot (counted from 1) is zero; 0 for matrices that have an inverse."""
    pivots = np.diagonal(F._lu_factor(A.detach())[0]._array, axis1=-2, axis2=-1) == 0
    return wrap(np.where(pivots.any(-1), pivots.argmax(-1) + 1, 0).astype(np.int32))


def _where_it_went_well(info: Any, A: Any, compute: Callable[[Any], Any]) -> Any:  # noqa: N803
    """What is computed of each matrix; NaN for those that ``info`` complains of."""
    failed = info != 0
    eye = wrap(np.eye(A.shape[-1], dtype=A._sig.numpy))
    found = compute(F._where(failed[..., None, None], eye, A))
    return F.masked_fill(found, failed.reshape((*failed.shape, *(1,) * (found.ndim - failed.ndim))), math.nan)


# -- systems of equations


@public("solve", namespace="linalg", out=True)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` (or ``X A = B``)."""
    return F._solve(A, B, left)


@public("solve_ex", namespace="linalg", out=True)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """``solve``, and zeros that say that it went well."""
    try:
        return named("linalg_solve_ex", F._solve(A, B, left), no_errors(A))
    except LinAlgError:
        if check_errors:
            raise
    info = _first_zero_pivot(A)
    return named("linalg_solve_ex", _where_it_went_well(info, A, lambda good: F._solve(good, B, left)), info)


@public("solve_triangular", namespace="linalg", out=True)
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` for triangular ``A``."""
    return F._solve_triangular(A, B, upper, left, unitriangular)


@public("triangular_solve", out=True)
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False  # noqa: A002, N803
) -> Any:  # fmt: skip
    """``solve_triangular`` under its old name."""
    matrix = F.transpose(A, -2, -1) if transpose else A
    found = F._triangular_solve(matrix, input, upper != transpose, True, unitriangular)
    return named("triangular_solve", found, F.expand(A, (*found.shape[:-2], *A.shape[-2:])).clone())


@public("inv", namespace="linalg", out=True)
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse of matrices."""
    return F._inv(A)


@public("inv_ex", namespace="linalg", out=True)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:  # noqa: N803
    """The inverse, and zeros that say that it went well."""
    try:
        return named("linalg_inv_ex", F._inv(A), no_errors(A))
    except LinAlgError:
        if check_errors:
            raise
    info = _first_zero_pivot(A)
    return named("linalg_inv_ex", _where_it_went_well(info, A, F._inv), info)


@public("pinv", namespace="linalg", out=True)
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:  # noqa: N803
    """The pseudo-inverse of matrices."""
    return F._pinv(A, _number(atol), _number(rtol if rcond is None else rcond), hermitian)


@public("pinverse")
def pinverse(input: Any, rcond: float = 1e-15) -> Any:  # noqa: A002
    """The pseudo-inverse of matrices."""
    return F._pinv(input, None, rcond)


@public("lstsq", namespace="linalg")
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """The least-squares solutions of ``A X = B``."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got {driver}"
        )
    vector = A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])
    right = F.unsqueeze(B, -1) if vector else B
    found = F._lstsq(A, right, _number(rcond))
    empty = wrap(np.zeros(0, np.int64))
    values = residuals = wrap(np.zeros(0, np.abs(A._array[..., :0]).dtype))
    m, n = A.shape[-2:]
    if m > n and driver not in (None, "gelsy"):
        residuals = (F._matmul(A, found) - right).abs().pow(2).sum(-2)
    if driver != "gels":
        ranks = np.linalg.matrix_rank(A._array)
        empty = wrap(np.asarray(ranks, np.int64))
    if driver in ("gelsd", "gelss"):
        values = wrap(np.linalg.svd(A._array, compute_uv=False))
    return named("linalg_lstsq", F._squeeze_dim(found, -1) if vector else found, residuals, empty, values)


@public("tensorsolve", namespace="linalg", out=True)
def tensorsolve(A: Any, other: Any, dims: Any = None) -> Any:  # noqa: N803
    """``X`` with ``tensordot(A, X, X.ndim) = other``."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))  # noqa: N806
    shape = tuple(A.shape[other.ndim :])
    count = int(np.prod(shape))
    if count != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {count} != {other.numel()}"
        )
    return F._solve(A.reshape(other.numel(), count), other.reshape(-1), True).reshape(shape)


@public("tensorinv", namespace="linalg", out=True)
def tensorinv(A: Any, ind: int = 2) -> Any:  # noqa: N803
    """The inverse with respect to ``tensordot`` over the first ``ind`` dimensions."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    rows, columns = int(np.prod(first)), int(np.prod(last))
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return F._inv(A.reshape(rows, columns)).reshape(*last, *first)


# -- determinants


@public("det", namespace="linalg", out=True)
def det(A: Any) -> Any:  # noqa: N803
    """The determinant of matrices."""
    return F._det(A)


@public("slogdet", namespace="linalg", out=True)
def slogdet(A: Any) -> Any:  # noqa: N803
    """Sign and logarithm of the determinant's size."""
    return named("linalg_slogdet", *F._slogdet(A))


@public("slogdet", out=True)
def old_slogdet(input: Any) -> Any:  # noqa: A002
    """``linalg.slogdet`` under its old name."""
    return named("slogdet", *F._slogdet(input))


@public("logdet")
def logdet(input: Any) -> Any:  # noqa: A002
    """The logarithm of the determinant; NaN where it is negative."""
    sign, log = F._slogdet(input)
    if sign._sig.numpy.kind == "c":
        return F.log(sign) + log
    return F._where(F.eq(sign, -1.0), wrap(np.asarray(np.nan, log._sig.numpy)), log)


# -- factors


@public("cholesky", namespace="linalg", out=True)
def cholesky(A: Any, *, upper: bool = False) -> Any:  # noqa: N803
    """The triangular factor of positive-definite matrices."""
    return F._cholesky_ex(A, upper)


@public("cholesky_ex", namespace="linalg", out=True)
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """The triangular factor, and zeros that say that it went well (otherwise the order of the bad leading minor)."""
    try:
        return named("linalg_cholesky_ex", F._cholesky_ex(A, upper), no_errors(A))
    except LinAlgError:
        if check_errors:
            raise
    half = A._array.mT.conj() if upper else A._array
    orders = [0 if is_positive_definite(m) else bad_minor(m) for m in half.reshape(-1, *A.shape[-2:])]
    info = wrap(np.reshape(orders, A.shape[:-2]).astype(np.int32))
    return named("linalg_cholesky_ex", _where_it_went_well(info, A, lambda good: F._cholesky_ex(good, upper)), info)


@public("cholesky", out=True)
def old_cholesky(input: Any, upper: bool = False) -> Any:  # noqa: A002
    """The triangular factor of positive-definite matrices."""
    return F._cholesky_old(input, upper)


@public("cholesky_solve", out=True)
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:  # noqa: A002
    """``X`` with ``A X = input``, given the triangular factor ``input2`` of ``A``."""
    for name, t in (("b", input), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    if input._sig.numpy != input2._sig.numpy:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{scalar_name(input._sig.numpy)} and A of type {scalar_name(input2._sig.numpy)} instead."
        )
    if input2.shape[-1] == input2.shape[-2] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} "
            f"but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    return F.cholesky_solve(input, input2, upper)


@public("qr", namespace="linalg", out=True)
def qr(A: Any, mode: str = "reduced") -> Any:  # noqa: N803
    """Orthogonal and triangular factors."""
    return named("linalg_qr", *F._qr(A, mode))


@public("qr", out=True)
def old_qr(input: Any, some: bool = True) -> Any:  # noqa: A002
    """``linalg.qr`` under its old name."""
    return named("qr", *F._qr(input, "reduced" if some else "complete"))


@public("svd", namespace="linalg", out=True)
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular vectors and values."""
    return named("linalg_svd", *F._svd(A, full_matrices))


@public("svd", out=True)
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
    return F._svd(A, False)[1]


@public("eigh", namespace="linalg", out=True)
def eigh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of hermitian matrices."""
    return named("linalg_eigh", *F._eigh(A, UPLO))


@public("eigvalsh", namespace="linalg", out=True)
def eigvalsh(A: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues of hermitian matrices."""
    return F._eigh(A, UPLO)[0]


@public("eig", namespace="linalg", out=True)
def eig(A: Any) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors of square matrices, complex."""
    return named("linalg_eig", *F._eig(A))


@public("eigvals", namespace="linalg", out=True)
def eigvals(A: Any) -> Any:  # noqa: N803
    """Eigenvalues of square matrices, complex."""
    return F._eig(A)[0]


# -- functions of matrices


@public("matrix_exp", namespace="linalg")
def matrix_exp(input: Any) -> Any:  # noqa: A002
    """The exponential of square matrices."""
    return F._matrix_exp(input)


@public("matrix_power", namespace="linalg", out=True)
def matrix_power(A: Any, n: int) -> Any:  # noqa: N803
    """The ``n``-th power of square matrices, by repeated squaring."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but got a tensor of size " + str(list(A.shape))
        )
    if n == 0:
        eye = np.broadcast_to(np.eye(A.shape[-1], dtype=A._sig.numpy), tuple(A.shape))
        return A.clone().copy_(wrap(eye.copy()))
    if n == 1:
        return A.clone()
    if n < 0:
        A, n = F._inv(A), -n  # noqa: N806
    result = None
    while n:
        if n & 1:
            result = A if result is None else result.matmul(A)
        n >>= 1
        if n:
            A = A.matmul(A)  # noqa: N806
    return result


def _taking_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with ``input`` as the name of its first argument, as outside of ``linalg``."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        return function(input, *args, **kwargs)

    return call


def _older_names() -> None:
    """Functions and methods that torch has outside of ``linalg``, too."""
    space = NAMESPACES["linalg"]
    for name in ("det", "matrix_exp", "matrix_power"):
        public(name)(_taking_input(space[name]))
    public("inverse")(_taking_input(space["inv"]))


_older_names()
__all__ = ["LinAlgError"]
