"""Cholesky factors, and solutions and inverses computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules.by_number import times
from ...rules.matrix_checks import LinAlgError, check_square, left_where_failed, takes_empty
from ...table.registry import F
from ...table.rows import function
from .products import adjoint
from .solving import no_inverse, substituted


@takes_empty("linalg.cholesky")
def _cholesky(self: Any, upper: bool = False, check_errors: bool = True) -> Any:
    check_square("linalg.cholesky", self)
    half = self.mT.conj() if upper else self
    lower = _lower_factor(half)
    if lower is None:
        if check_errors:
            raise _not_positive(half)
        lower = _begun_where_failed(half)
    return np.ascontiguousarray(lower.mT.conj()) if upper else lower


def _lower_factor(half: Any) -> Any:
    """The lower factors, or ``None`` if one matrix of the batch has none."""
    try:
        lower = np.linalg.cholesky(half)
    except np.linalg.LinAlgError:
        return None
    unknown = np.isnan(np.diagonal(lower, axis1=-2, axis2=-1)).any()  # NumPy lets NaN pass, LAPACK does not
    return None if unknown else lower


def bad_minors(half: Any) -> Any:
    """For each matrix the order of its first leading minor that is not positive; 0 where all are."""
    matrices = half.reshape(-1, *half.shape[-2:])
    orders = [0 if _is_positive_definite(m) else _bad_minor(m)[1] for m in matrices]
    return np.reshape(orders, half.shape[:-2]).astype(np.int32)


def _begun_where_failed(half: Any) -> Any:
    """The lower factor of each matrix, or what there is of it."""
    orders, matrices = bad_minors(half), half.reshape(-1, *half.shape[-2:])
    begun = [_begun_factor(m, k) if k else m for m, k in zip(matrices, orders.reshape(-1), strict=True)]
    return left_where_failed(orders != 0, half, np.reshape(begun, half.shape), np.linalg.cholesky)


def _not_positive(self: Any) -> LinAlgError:
    element, order = _bad_minor(self)
    which = f"(Batch element {element}): " if self.ndim > 2 else ""
    return LinAlgError(
        f"linalg.cholesky: {which}The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite)."
    )


def _is_positive_definite(matrix: Any) -> bool:
    """Whether one matrix has a Cholesky factor."""
    try:
        return not np.isnan(np.diagonal(np.linalg.cholesky(matrix))).any()
    except np.linalg.LinAlgError:
        return False


def _bad_minor(a: Any) -> tuple[int, int]:
    """The first matrix of a batch that is not positive, and the order of its first leading minor that is not."""
    for element, matrix in enumerate(a.reshape(-1, *a.shape[-2:])):
        for k in range(1, a.shape[-1] + 1):
            if not _is_positive_definite(matrix[:k, :k]):
                return element, k
    return 0, a.shape[-1]


def _begun_factor(matrix: Any, order: int) -> Any:
    """What is there of the lower factor when the leading minor of an order turns out not to be positive: the columns
    before it, the pivot itself, and the matrix behind."""
    left, pivot = np.tril(matrix), order - 1
    if pivot:
        top = np.linalg.cholesky(matrix[:pivot, :pivot])
        left[:pivot, :pivot] = top
        left[pivot:, :pivot] = np.linalg.solve(top.conj(), matrix[pivot:, :pivot].T).T
        left[pivot, pivot] -= np.vdot(left[pivot, :pivot], left[pivot, :pivot])
    return left


def _cholesky_back(g: Any, result: Any, upper: bool) -> Any:
    lower, gl = (adjoint(result), adjoint(g)) if upper else (result, g)
    phi = F.tril(F._matmul(adjoint(lower), gl), 0)
    phi = times(phi + adjoint(F.tril(phi, -1)), 0.5)
    side = F._solve_triangular(adjoint(lower), phi, True, True)
    return F._solve_triangular(lower, side, False, False)


def _cholesky_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    upper = primal[1]
    lower = adjoint(results[0]) if upper else results[0]
    phi = F._solve_triangular(lower, tangents[0], False, True)
    phi = F.tril(F._solve_triangular(adjoint(lower), phi, True, False), 0)
    moved = F._matmul(lower, phi - F.diag_embed(F.diagonal(phi, 0, -2, -1)) * 0.5)
    return adjoint(moved) if upper else moved


function(
    "_cholesky_ex",
    _cholesky,
    node="LinalgCholeskyExBackward0",
    as_given=True,
    self=_cholesky_back,
    jvp=_cholesky_jvp,
    layout="columns",
)


def _old_cholesky(self: Any, upper: bool = False) -> Any:
    """The same, as the function that PyTorch had before, which leaves it to its kernel to refuse a dtype."""
    check_square("cholesky", self)
    return _cholesky(self, upper)


function("_cholesky_old", _old_cholesky, node="CholeskyBackward0", as_given=True, self=_cholesky_back, layout="columns")


def _cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Any:
    part = np.triu(input2) if upper else np.tril(input2)
    other = part.mT.conj()
    try:
        return np.linalg.solve(other @ part if upper else part @ other, self)
    except np.linalg.LinAlgError:  # LAPACK divides by zeros on the diagonal
        below, above = (other, part) if upper else (part, other)
        return substituted(above, substituted(below, self, False), True)


def _cholesky_solve_back(g: Any, needs: Any, input2: Any, upper: bool, result: Any, self_sizes: Any) -> Any:
    side = F.cholesky_solve(g, input2, upper)
    both = F._matmul(side, adjoint(result))
    both = both + adjoint(both)
    factor = -(F._matmul(input2, both) if upper else F._matmul(both, input2))
    return F.sum_to_size(side, tuple(self_sizes)), F.sum_to_size(factor, tuple(input2.shape))


function(
    "cholesky_solve",
    _cholesky_solve,
    tensors="self input2",
    joint=_cholesky_solve_back,
    keeps="self",
    kinds="fc",
    layout="columns",
)


def _cholesky_inverse(self: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose Cholesky factor is given."""
    check_square("cholesky_inverse", self)
    part = np.triu(self) if upper else np.tril(self)
    try:
        return np.linalg.inv(part.mT.conj() @ part if upper else part @ part.mT.conj())
    except np.linalg.LinAlgError:
        raise no_inverse("cholesky_inverse", part if upper else part.mT) from None


def _cholesky_inverse_back(g: Any, self: Any, result: Any, upper: bool) -> Any:
    both = F._matmul(F._matmul(result, g + adjoint(g)), result)
    return -F._matmul(self, both) if upper else -F._matmul(both, self)


def _cholesky_inverse_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    """Only the triangle is read, so only its tangents count (PyTorch's agree with no finite differences)."""
    upper = primal[1]
    part = F.triu if upper else F.tril
    factor, moved = part(primal[0]), part(tangents[0])
    half = F._matmul(adjoint(moved), factor) if upper else F._matmul(moved, adjoint(factor))
    return -F._matmul(F._matmul(results[0], half + adjoint(half)), results[0])


function(
    "cholesky_inverse", _cholesky_inverse, self=_cholesky_inverse_back, jvp=_cholesky_inverse_tangent, layout="columns"
)
