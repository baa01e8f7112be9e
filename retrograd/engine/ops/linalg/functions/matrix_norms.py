"""Norms, condition numbers and ranks of matrices."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....calls.refusals import refuse
from ....rules.matrix_checks import UNKNOWN_PRECISION, check_dtype, check_matrix, check_sides
from ....table.public import public
from ....table.registry import F
from ....tensors.base import TensorBase, wrap
from ....tensors.convert import checked_dim, dims_given
from ....tensors.dtype_names import scalar_name
from ....tensors.dtypes import to_numpy_dtype
from ....tensors.narrow import kind_of
from ...reductions.norms import norm_dtype
from ..least_squares import cutoffs
from .inverses import inv_ex


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
