"""Determinants, powers, exponentials, inverses and norms of matrices, and functions of older names."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....calls.refusals import refuse
from ....core.base import TensorBase, wrap
from ....core.dtypes import scalar_name, to_numpy_dtype
from ....core.narrow import kind_of
from ....core.registry import F
from ....return_types import named
from ....rules.matrix_checks import UNKNOWN_PRECISION, LinAlgError, check_dtype, check_matrix, check_sides
from ....table.public import public
from ....tensors.convert import checked_dim, dims_given
from ...reductions.norms import norm_dtype
from ..solving import cutoffs, no_inverse
from .info import first_zero_pivot, zero_info

# Checks that several functions of `torch.linalg` share, with the same messages.


def check_same_dtype(what: str, one: tuple[str, Any], other: tuple[str, Any]) -> None:
    """``RuntimeError`` for tensors, each with its name, of different dtypes; ``what`` begins the sentence."""
    (a, x), (b, y) = one, other
    if x._sig.numpy != y._sig.numpy:
        raise RuntimeError(
            f"{what} to have the same dtype, but found {a} of type {scalar_name(x._sig.numpy)} and {b} of type "
            f"{scalar_name(y._sig.numpy)} instead"
        )


# Tolerances of ranks, which may be tensors: one for each matrix of a batch.


def tolerance_of(value: Any) -> Any:
    """The number, array or ``None`` that a row takes."""
    return value._array if isinstance(value, TensorBase) else value


# Determinants and their logarithms.


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
    if sign._sig.kind == "c":
        return F.log(sign) + log
    return F._where(F.eq(sign, -1.0), wrap(np.asarray(np.nan, log._sig.numpy)), log)


# Powers and the exponential of square matrices.


@public("matrix_exp", namespace="linalg")
def matrix_exp(input: Any) -> Any:  # noqa: A002
    """The exponential of square matrices."""
    return F._matrix_exp(input)


@public("matrix_power", namespace="linalg", out=Out(exact=True))
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
    if n == 3:
        return A.matmul(A).matmul(A)
    result = None
    while n:
        if n & 1:
            result = A if result is None else result.matmul(A)
        n >>= 1
        if n:
            A = A.matmul(A)  # noqa: N806
    return result


# Inverses and pseudo-inverses.


@public("inv", namespace="linalg", out=True)
def inv(A: Any) -> Any:  # noqa: N803
    """The inverse of matrices."""
    return F._inv(A)


@public("inv_ex", namespace="linalg", out=True)
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:  # noqa: N803
    """The inverse, and zeros that say that it went well."""
    try:
        return named("linalg_inv_ex", F._inv(A), zero_info(A))
    except LinAlgError:
        if check_errors:
            raise no_inverse("linalg.inv_ex", A._array) from None
    return named("linalg_inv_ex", F._inv(A, False), first_zero_pivot(A))


@public("pinv", namespace="linalg", out=True)
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:  # noqa: N803
    """The pseudo-inverse of matrices."""
    return F._pinv(A, tolerance_of(atol), tolerance_of(rtol if rcond is None else rcond), hermitian)


@public("pinverse")
def pinverse(input: Any, rcond: float = 1e-15) -> Any:  # noqa: A002
    """The pseudo-inverse of matrices."""
    return F._pinv(input, None, rcond)


@public("tensorinv", namespace="linalg", out=Out(copied=True))
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


# Powers of vectors as columns.


@public("vander", method=False)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """Powers of a vector as columns, falling unless ``increasing``."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = powers_of(x, count)
    if x._sig.kind in "biu":
        powers = F._to_copy(powers, np.dtype(np.int64))
    return powers if increasing else F.flip(powers, (1,))


def powers_of(x: Any, count: int) -> Any:
    """``1, x, x ** 2, ...`` in a new last dimension."""
    ones = wrap(np.ones((*x.shape, min(count, 1)), x._sig.numpy if x._sig.kind != "b" else np.int64)).to(x.device)
    if count <= 1:
        return ones
    wide = F.expand(F.unsqueeze(x, -1), (*x.shape, count - 1))
    return F.cat([ones, F.cumprod(wide, -1)], -1)


@public("vander", namespace="linalg")
def linalg_vander(x: Any, *, N: int | None = None) -> Any:  # noqa: N803
    """Rising powers of vectors in a new last dimension."""
    if x._sig.kind not in "fciu" or x._sig.numpy == np.float16:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {scalar_name(x._sig.numpy)}"
        )
    x = x.reshape(1) if not x.ndim else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return powers_of(x, count)


# Functions of `torch.linalg` that PyTorch also has outside it, with an argument called `input`.


def _taking_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with ``input`` as the name of its first argument."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        return function(input, *args, **kwargs)

    return call


for _name, _function in (("det", det), ("inverse", inv), ("matrix_exp", matrix_exp), ("matrix_power", matrix_power)):
    public(_name)(_taking_input(_function))


# Norms, condition numbers and ranks of matrices.


def _singular_values(A: Any) -> Any:  # noqa: N803
    return F._svd(A, False)[1]


def _matrix_last(A: Any, dim: Any) -> tuple[Any, tuple[int, int]]:  # noqa: N803
    """The tensor with the two dimensions of its matrices last."""
    first, second = (checked_dim(d, A.ndim) for d in dim)
    if first == second:
        raise RuntimeError("linalg.matrix_norm: dims must be different. Got " + str(tuple(dim)))
    rest = [d for d in range(A.ndim) if d not in (first, second)]
    return F._permute(A, (*rest, first, second)), (first, second)


def _put_back(out: Any, dims: tuple[int, int]) -> Any:
    """Two dimensions of size one, of which the last is there, where the matrices were."""
    out = F.unsqueeze(out, -1)
    rest = iter(range(out.ndim - 2))
    last = {dims[0]: out.ndim - 2, dims[1]: out.ndim - 1}
    return F._permute(out, tuple(last[d] if d in last else next(rest) for d in range(out.ndim)))


@public("matrix_norm", namespace="linalg", out=Out(copied=True))
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None  # noqa: A002, N803
) -> Any:  # fmt: skip
    """The norm of matrices: ``"fro"``, ``"nuc"``, 1, 2, inf and their negatives."""
    check_matrix("linalg.matrix_norm", "A", A)
    kind = A._sig.numpy
    refuse(
        kind_of(kind) not in "fc",
        f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {scalar_name(kind)}",
    )
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    if dtype is not None:
        norm_dtype("linalg.matrix_norm", kind, to_numpy_dtype(dtype))
        A = A.to(dtype)  # noqa: N806
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    if ord == "fro":
        return F._vector_norm(A, 2, tuple([checked_dim(d, A.ndim) for d in dim]), keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        refuse(A._sig.numpy == np.float16, "linalg.matrix_norm: Low precision dtypes not supported. Got Half")
        return _by_singular_values(A, ord, dim, keepdim)
    if isinstance(ord, str) or (abs(ord) != 1 and not math.isinf(ord)):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return _by_sums(A, ord, dim, keepdim)


def _by_singular_values(A: Any, ord: Any, dim: Any, keepdim: bool) -> Any:  # noqa: A002, N803
    """Their sum (``"nuc"``), the largest (2), or the smallest (-2)."""
    matrices, dims = _matrix_last(A, dim)
    values = _singular_values(matrices)
    found = F._sum_dim(values, -1, keepdim) if ord == "nuc" else _extreme(values, ord, -1, keepdim)
    return _put_back(found, dims) if keepdim else found


def _by_sums(A: Any, ord: float, dim: Any, keepdim: bool) -> Any:  # noqa: A002, N803
    """The largest (smallest, if negative) of the sums of magnitudes in each column (1) or row (infinity)."""
    rows, columns = (checked_dim(d, A.ndim) for d in dim)
    if math.isinf(ord):
        rows, columns = columns, rows
    sums = F._vector_norm(A, 1.0, rows, keepdim)
    if not keepdim and columns > rows:
        columns -= 1
    return _extreme(sums, ord, columns, keepdim)


def _extreme(sizes: Any, ord: float, dim: int, keepdim: bool) -> Any:  # noqa: A002
    """The largest (smallest, if negative) of the sizes that a norm is made of; the largest of none is 0."""
    if ord < 0:
        return F.amin(sizes, dim, keepdim)
    return F.amax(sizes, dim, keepdim) if sizes.shape[dim] else F._sum_dim(sizes, dim, keepdim)


def nuclear_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    """Sum of the singular values."""
    if isinstance(dim, bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = None, dim
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


public("nuclear_norm", method=False, out=Out(copied=True))(nuclear_norm)


@public("norm", namespace="linalg", out=Out(copied=True))
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002, N803
    """The norm of vectors or matrices, depending on ``ord`` and the number of dimensions."""
    if not isinstance(dim, (int, NoneType)) and len(dim) > 2:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        return F._vector_norm(A, 2.0, tuple(dim) if isinstance(dim, list) else dim, keepdim, dtype)
    if dim is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got " + f"{A.ndim}D."
            )
        dim = tuple(range(A.ndim))
    dims = dims_given(dim)
    if len(dims) == 1 and not isinstance(ord, str):
        return F._vector_norm(A, ord, dims, keepdim, dtype)
    if dims == (0,) and A.ndim == 1:
        check_matrix("linalg.matrix_norm", "A", A)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    return matrix_norm(A, ord, dims, keepdim, dtype=dtype)


@public("cond", namespace="linalg", out=Out(copied=True))
def cond(A: Any, p: Any = None) -> Any:  # noqa: N803
    """The condition number of matrices."""
    if isinstance(p, str):
        refuse(p not in ("fro", "nuc"), f"linalg.cond got an invalid norm type: {p}")
        check_matrix(f"linalg.cond(ord={p})", "A", A)
    elif A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    by_singular_values = p is None or (not isinstance(p, str) and abs(p) == 2)
    if not by_singular_values:
        check_sides(f"linalg.cond(ord={p})", A)
    if not A.numel():
        return wrap(np.zeros(A.shape[:-2], A._array.real.dtype))
    if by_singular_values:
        values = _singular_values(A)
        last = values.shape[-1]
        most, least = F._slice(values, -1, 0, 1), F._slice(values, -1, last - 1, last)
        return F._squeeze_dim(F.div(least, most) if p == -2 else F.div(most, least), -1)
    if p == "nuc":
        values = _singular_values(A)
        inverse = F.reciprocal(values)
        return F._sum_dim(values, -1) * F._sum_dim(inverse, -1)
    inverse, failed = inv_ex(A)
    inverse = F.masked_fill(inverse, F.unsqueeze(F.unsqueeze(failed > 0, -1), -1), math.inf)
    return F.nan_to_num(matrix_norm(A, p) * matrix_norm(inverse, p), math.inf, math.inf, -math.inf)


@public("matrix_rank", namespace="linalg", out=True)
def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None  # noqa: N803
) -> Any:  # fmt: skip
    """How many singular values are not (nearly) zero."""
    check_matrix("torch.linalg.matrix_rank", "input", A)
    array = A._array
    if tol is not None and not hermitian:
        check_dtype("linalg.svd", array)
    if array.dtype.char not in "fdFD":
        raise RuntimeError(UNKNOWN_PRECISION)
    values = np.abs(np.linalg.eigvalsh(array)) if hermitian else np.linalg.svd(array, compute_uv=False)
    limits = [v._array if isinstance(v, TensorBase) else v for v in (tol if tol is not None else atol, rtol)]
    largest = values.max(-1, initial=0)
    limit = cutoffs(largest, max(array.shape[-2:]), limits[0], 0.0 if tol is not None else limits[1])
    return wrap(np.asarray((values > np.asarray(limit)[..., None]).sum(-1), np.int64))
