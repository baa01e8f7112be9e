"""Systems of equations, solved exactly or by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.out_argument import Out
from ....core.layouts import contiguous_format
from ....core.registry import F
from ....deprecations import discourage
from ....return_types import named
from ....rules.matrix_checks import LinAlgError, check_matrix
from ....table.public import public
from ..solving import no_solution
from .info import first_zero_pivot, zero_info
from .matrix_functions import check_same_dtype, tolerance_of


@public("solve", namespace="linalg", out=True)
def solve(A: Any, B: Any, *, left: bool = True) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` (or ``X A = B``)."""
    return F._solve(A, B, left)


@public("solve_ex", namespace="linalg", out=True)
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """``solve``, and zeros that say that it went well."""
    if not B.ndim:
        check_matrix("linalg.solve", "B", B)
    try:
        return named("linalg_solve_ex", F._solve(A, B, left), zero_info(A))
    except LinAlgError:
        if check_errors:
            raise no_solution("torch.linalg.solve_ex", A._array) from None
    return named("linalg_solve_ex", F._solve(A, B, left, False), first_zero_pivot(A))


@public("solve_triangular", namespace="linalg", out=True)
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:  # noqa: N803
    """``X`` with ``A X = B`` for triangular ``A``."""
    return F._solve_triangular(A, B, upper, left, unitriangular)


def _cloned(A: Any, batch: tuple[int, ...]) -> Any:  # noqa: N803
    """A copy of the matrices for each of a batch, column by column."""
    whole = F.expand(A, (*batch, *A.shape[-2:]))
    return whole.mT.clone(memory_format=contiguous_format).mT


@public("triangular_solve", out=True)
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False  # noqa: A002, N803
) -> Any:  # fmt: skip
    """``solve_triangular`` under its old name."""
    discourage("triangular_solve")
    check_same_dtype("Expected b and A", ("b", input), ("A", A))
    matrix = F.transpose(A, -2, -1) if transpose else A
    found = F._triangular_solve(matrix, input, upper != transpose, True, unitriangular)
    return named("triangular_solve", found, _cloned(A, tuple(found.shape[:-2])))


@public("lstsq", namespace="linalg", out=True)
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """The least-squares solutions of ``A X = B``."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got {driver}"
        )
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not B.ndim:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
            "<= 1"
        )
    if A.shape[-2] != B.shape[-1 if B.ndim < A.ndim else -2]:
        place = -1 if B.ndim < A.ndim else -2
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({place})")
    check_same_dtype("torch.linalg.lstsq: Expected input and other", ("input", A), ("other", B))
    return named("linalg_lstsq", *F._lstsq(A, B, tolerance_of(rcond), driver))


@public("tensorsolve", namespace="linalg", out=Out(copied=True))
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
